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
    const text = sign ?? /[^ \t\r\n=!(),><\0]*/y.exec(selector.slice(position))?.[0] ?? '';
    if (text === '') return [...tokens, { kind: 'end', text: '' }];
    tokens.push({ kind: sign ?? 'word', text });
    position += text.length;
    // To the API server's scanner a NUL is the end of what it reads: of a token, or of everything.
    if (selector.charAt(position) === '\0') position++;
  }
}
