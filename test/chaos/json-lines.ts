/** What programs wrote, one JSON object a line; whatever else they wrote is passed over, and what they did not finish. */
export function jsonLines<T>(text: string): T[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      return [JSON.parse(line) as T];
    } catch {
      // The last line of who was killed.
      return [];
    }
  });
}
