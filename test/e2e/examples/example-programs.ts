/** A program of examples/ as deployed. The name is that of its Deployment, its Lease and its ledger. */
export interface ExampleProgram {
  readonly name: string;
  /** The containers of its pods: the program itself is the first. */
  readonly containers: readonly [string, ...string[]];
}

/** One for each way to take part. */
export const examplePrograms: readonly ExampleProgram[] = [
  { name: 'checkout', containers: ['checkout'] },
  { name: 'invoices', containers: ['invoices', 'participate'] },
  { name: 'reports', containers: ['reports'] },
  { name: 'tenant-operator', containers: ['tenant-operator'] },
];
