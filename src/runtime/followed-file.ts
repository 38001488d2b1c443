/** A small file that may change while we run. It is polled: a ConfigMap changes by a swap of symbolic links, which ends a watch. */
import { readFileSync, statSync } from "node:fs";
import type { Clock, Timer } from "./clock.ts";
import { reasonOf, systemCodeOf } from "./errors.ts";
import { followedFileMs, settingsFileChars } from "./limits.ts";
import type { Log } from "./log.ts";

interface FollowedFileOptions<T> {
  readonly path: string;
  /** Throws what is wrong with the text. */
  readonly read: (text: string) => T;
  /** For log lines and words: "policy file". */
  readonly what: string;
}

interface FollowedFile<T> {
  /** The last good one; undefined until there was one. */
  readonly current: T | undefined;
  /** Why what the file says now is not in force. */
  readonly trouble: string | undefined;
  /** Told after either has changed. */
  onChange(listener: () => void): void;
  /** Told after every look, whatever it saw. */
  onLook(listener: () => void): void;
  close(): void;
}

/** Reads it at once. */
export function followFile<T>(
  options: FollowedFileOptions<T>,
  { clock, log }: { clock: Clock; log: Log },
): FollowedFile<T> {
  const { path, read, what } = options;
  const changed: (() => void)[] = [];
  const looked: (() => void)[] = [];
  let good: { readonly value: T } | undefined;
  let trouble: string | undefined;
  let last: string | undefined;
  let timer: Timer | undefined;

  /** Whether anything is another than before. */
  function look(): boolean {
    const before = { good, trouble };
    try {
      const { text } = readText(path);
      // The same text is as good or bad as it was.
      if (text === last) return false;
      last = text;
      good = { value: read(text) };
      trouble = undefined;
      // The first read is the start, and no news.
      if (before.good !== undefined || before.trouble !== undefined) log.info("file reloaded", { what, path });
    } catch (thrown) {
      if (thrown instanceof Unreadable) last = undefined;
      trouble =
        thrown instanceof Unreadable ? `the ${what} ${path} cannot be read: ${thrown.message}` : reasonOf(thrown);
      if (trouble !== before.trouble) log.warn("failed to read a file", { what, path, reason: trouble });
    }
    return good !== before.good || trouble !== before.trouble;
  }

  function lookAgain(): void {
    timer = clock.timer(followedFileMs, () => {
      lookAgain();
      if (look()) for (const listener of changed) listener();
      for (const listener of looked) listener();
    });
  }

  look();
  lookAgain();
  return {
    get current() {
      return good?.value;
    },
    get trouble() {
      return trouble;
    },
    onChange: (listener) => void changed.push(listener),
    onLook: (listener) => void looked.push(listener),
    close: () => timer?.cancel(),
  };
}

class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** Of a file that a person wrote. Throws a reason that completes "it cannot be read: …". */
export function readText(path: string): { text: string; changedAtMs: number } {
  try {
    const stat = statSync(path);
    // A pipe would hold everything up until somebody writes into it.
    if (!stat.isFile()) throw new Unreadable("it is not a file");
    if (stat.size > settingsFileChars) throw new Unreadable(`it has more than ${settingsFileChars} bytes`);
    return { text: readFileSync(path, "utf8"), changedAtMs: stat.mtimeMs };
  } catch (thrown) {
    if (thrown instanceof Unreadable) throw thrown;
    throw new Unreadable(systemCodeOf(thrown) === "ENOENT" ? "it is not there" : reasonOf(thrown));
  }
}
