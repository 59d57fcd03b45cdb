import { type Host, untilAborted } from '../support/host.ts';
import type { DemoWorld } from './demo-world.ts';
import { type FrameSurroundings, renderFrame } from './frame.ts';
import { type KeyMeaning, readKeys } from './keys.ts';
import { LiveScreen } from './live-screen.ts';

/** What is shown, where, and until when. */
export interface LiveParts {
  readonly world: DemoWorld;
  readonly host: Host;
  readonly surroundings: FrameSurroundings;
  readonly stop: AbortSignal;
}

/** Starts the world and shows it in the terminal until somebody quits or `stop` aborts. */
export async function showLive({ world, host, surroundings, stop }: LiveParts): Promise<void> {
  const { stdin, stdout, clock, env } = host;
  const over = Promise.withResolvers<void>();

  const screen = new LiveScreen({
    output: stdout,
    clock,
    hasColors: !env['NO_COLOR'] && stdout.hasColors(),
    render: (size) => renderFrame(world.state(), surroundings, size),
  });
  const forgetKeys = readKeys(stdin, (meaning) => obey(world, meaning, over));
  const leaveTerminal = () => {
    forgetKeys();
    screen.close();
  };
  const forgetExit = host.beforeExit(leaveTerminal);
  try {
    screen.open();
    const end = Promise.race([over.promise, untilAborted(stop)]);
    await Promise.race([end, world.start().then(() => end)]);
  } finally {
    leaveTerminal();
    forgetExit();
  }
}

function obey(
  { commands }: DemoWorld,
  meaning: KeyMeaning,
  over: Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>,
): void {
  if (meaning === 'quit') over.resolve();
  else commands[meaning]().catch(over.reject);
}
