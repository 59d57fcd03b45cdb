import { parser } from '@prometheus-io/lezer-promql';

/** A condition of an expression for a label: `state="active"`. */
export interface LabelMatcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

/** The series of one metric in an expression. */
export interface Selector {
  readonly metric: string;
  readonly matchers: readonly LabelMatcher[];
}

/** The series that a PromQL expression reads. */
export interface PromqlReading {
  readonly selectors: readonly Selector[];
  /** Labels by which it groups or matches series. */
  readonly groupingLabels: readonly string[];
}

/**
 * Parses an expression.
 * @throws SyntaxError if it is not PromQL
 */
export function readPromql(expression: string): PromqlReading {
  const selectors: { metric: string; matchers: LabelMatcher[] }[] = [];
  const groupingLabels: string[] = [];
  parser.parse(expression).iterate({
    enter({ name, from, to, type, node }) {
      if (type.isError) throw new SyntaxError(`no PromQL at ${from}: ${expression}`);
      if (name === 'VectorSelector') selectors.push({ metric: '', matchers: [] });
      const selector = selectors.at(-1);
      const text = expression.slice(from, to);
      const parent = node.parent?.name;
      if (name === 'Identifier' && parent === 'VectorSelector' && selector) selector.metric = text;
      if (name === 'LabelName' && parent === 'GroupingLabels') groupingLabels.push(text);
      if (name === 'UnquotedLabelMatcher') {
        const [label = '', operator = '', value = ''] = ['LabelName', 'MatchOp', 'StringLiteral'].map(
          (part) => {
            const found = node.getChild(part);
            return found ? expression.slice(found.from, found.to) : '';
          },
        );
        selector?.matchers.push({ label, operator, value: unquoted(value) });
      }
    },
  });
  return { selectors, groupingLabels };
}

/** No label value here needs an escape. Support escapes when one does. */
function unquoted(literal: string): string {
  if (literal.includes('\\')) throw new SyntaxError(`${literal} has an escape`);
  return literal.slice(1, -1);
}
