/** The commands that run in a container. As on a real node, one goes on when the connection to it has gone. */

export interface Process {
  readonly id: number;
  /** Its words, as `ps` shows them. */
  words: readonly string[];
  /** Aborted with its exit code when it is killed. */
  readonly signal: AbortSignal;
  kill(signal: number): void;
  /** It has ended. */
  gone(): void;
}

export interface Processes {
  start(words: readonly string[]): Process;
  get(id: number): Process | undefined;
  list(): Iterable<Process>;
}

export class Killed extends Error {
  override readonly name = "Killed";
  readonly exitCode: number;

  constructor(signal: number) {
    super(`killed by signal ${signal}`);
    this.exitCode = 128 + signal;
  }
}

export function createProcesses(): Processes {
  const running = new Map<number, Process>();
  // The first is the container's own.
  let last = 1;
  return {
    start(words) {
      last += 1;
      const id = last;
      const ending = new AbortController();
      const process: Process = {
        ...{ id, words, signal: ending.signal },
        kill: (signal) => ending.abort(new Killed(signal)),
        gone: () => void running.delete(id),
      };
      running.set(id, process);
      return process;
    },
    get: (id) => running.get(id),
    list: () => running.values(),
  };
}
