/** The API group of this project. */
export const GROUP = 'coordinated-leader-election.dev';
