import { Document, isScalar, Scalar, visit } from 'yaml';
import { printableJson } from '../support/text.ts';

/**
 * A value as JSON or YAML; what is undefined is left out. Text that others wrote is whole, but written so that a terminal
 * may show it.
 */
export function structured(value: object, format: 'json' | 'yaml'): string {
  const json = JSON.stringify(value, undefined, 2);
  return format === 'json' ? `${printableJson(json)}\n` : yaml(JSON.parse(json));
}

function yaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      // Between these quotes, the escapes of JSON are understood.
      if (isScalar(node) && typeof node.value === 'string' && printableJson(node.value) !== node.value) {
        node.type = Scalar.QUOTE_DOUBLE;
      }
    },
  });
  return printableJson(document.toString({ lineWidth: 0 }));
}
