/** The program's own name. */
export const NAME = 'coordinated-leader-election';

/** Its name as a plugin of kubectl, which then is `kubectl cle`. */
export const PLUGIN = 'kubectl-cle';
