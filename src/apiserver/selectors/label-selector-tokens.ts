/** A piece of a label selector: a word, a sign (which is its own kind), or the end. */
export interface Token {
  readonly kind: 'word' | 'end' | Sign;
  readonly text: string;
}

export type Sign = '(' | ')' | ',' | '!' | '!=' | '=' | '==' | '>' | '<';

const signs: readonly Sign[] = ['!=', '==', '(', ')', ',', '!', '=', '>', '<'];

/** The tokens of a selector, one by one: there may be very many. After the last one comes its end, again and again. */
export function* labelSelectorTokens(selector: string): Generator<Token, never, void> {
  const word = /[^ \t\r\n=!(),><\0]*/y;
  let position = 0;
  for (;;) {
    while (/[ \t\r\n]/.test(selector.charAt(position))) position++;
    const sign = signs.find((each) => selector.startsWith(each, position));
    word.lastIndex = position;
    const text = sign ?? word.exec(selector)?.[0] ?? '';
    if (text === '') {
      for (;;) yield { kind: 'end', text: '' };
    }
    yield { kind: sign ?? 'word', text };
    position += text.length;
    // To the API server's scanner a NUL is the end of what it reads: of a token, or of everything.
    if (selector.charAt(position) === '\0') position++;
  }
}
