// Builds what the e2e tests run against, so that a failure to build shows as such and not as a test that timed out.
import { binary, binaryNames } from '../test/control-plane/binaries.ts';

for (const name of binaryNames) {
  console.log(`${name}: ${await binary(name)}`);
}
