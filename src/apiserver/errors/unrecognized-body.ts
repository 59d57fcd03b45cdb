import { type ApiError, badRequest } from './api-error.ts';

/** How much of a body is shown, in bytes. */
const SHOWN_BYTES = 30;

/** The refusal of a body that is no object of `kind`; it shows how the body begins. */
export function unrecognizedBody(kind: string, problem: string, body: Buffer): ApiError {
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind}): ${problem} (${beginningOf(body)})`,
  );
}

function beginningOf(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const shown = body.subarray(0, SHOWN_BYTES);
  const text = shown.toString(shown[0] === 0x7b ? 'utf8' : 'hex');
  return shown.length < body.length ? `${text} ...` : text;
}
