/** Returns the JSON objects that a program wrote, one per line. Skips other output, and incomplete lines. */
export function jsonLines<T>(text: string): T[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      return [JSON.parse(line) as T];
    } catch {
      // The last line of a killed program.
      return [];
    }
  });
}
