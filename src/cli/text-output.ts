/** Where the program writes; a terminal's width and colours are used where it has them. */
export interface TextOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}
