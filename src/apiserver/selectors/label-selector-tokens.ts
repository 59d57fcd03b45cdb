/** A piece of a label selector: a word, a sign (which is its own kind), or the end. */
export interface Token {
  readonly kind: 'word' | 'end' | Sign;
  readonly text: string;
}

export type Sign = '(' | ')' | ',' | '!' | '!=' | '=' | '==' | '>' | '<';

const signs: readonly Sign[] = ['!=', '==', '(', ')', ',', '!', '=', '>', '<'];

/** Cuts a selector into tokens, of which the last is the end. */
export function labelSelectorTokens(selector: string): readonly Token[] {
  const tokens: Token[] = [];
  let position = 0;
  for (;;) {
    while (/[ \t\r\n]/.test(selector.charAt(position))) position++;
    const sign = signs.find((each) => selector.startsWith(each, position));
    // The real server's scanner takes a NUL for the end of its input, and where one ends a word, swallows it.
    const text = sign ?? /[^ \t\r\n=!(),><\0]*/y.exec(selector.slice(position))?.[0] ?? '';
    if (text === '') return [...tokens, { kind: 'end', text: '' }];
    tokens.push({ kind: sign ?? 'word', text });
    position +=
      text.length + (sign === undefined && selector.charAt(position + text.length) === '\0' ? 1 : 0);
  }
}
