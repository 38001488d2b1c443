/** The policies in force, and what is wrong with those that should be. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { followFile, readText } from "../../runtime/followed-file.ts";
import type { Log } from "../../runtime/log.ts";
import { type Judge, judgeBy } from "./judgement.ts";
import { parsePolicies } from "./parse-policies.ts";
import { noPolicies, type Policies } from "./policies.ts";

export interface PolicySource {
  readonly current: Policies;
  readonly judge: Judge;
  readonly error: string | undefined;
  /** Told when another answer may be given than before: the file has changed, or a maintenance begins or ends. */
  onChange(listener: () => void): void;
  close(): void;
}

/** Without a file nothing is refused. Throws what is wrong with it at first: a provider must not start without its policies. */
export function createPolicySource(path: string | undefined, { clock, log }: { clock: Clock; log: Log }): PolicySource {
  if (path === undefined) {
    const [current, judge] = [noPolicies, judgeBy(noPolicies)];
    return { current, judge, error: undefined, onChange: () => undefined, close: () => undefined };
  }
  const read = (text: string) => {
    const policies = parsePolicies(text, path);
    return { policies, judge: judgeBy(policies) };
  };
  const first = read(readPolicyText(path));
  const file = followFile({ path, read, what: "policy file" }, { clock, log: log.with({ module: "policies" }) });
  const inForce = () => file.current ?? first;
  const listeners: (() => void)[] = [];
  const tell = () => {
    for (const listener of listeners) listener();
  };
  file.onChange(tell);
  let bidding = first.judge.bidding(clock.now()).reason;
  file.onLook(() => {
    const now = inForce().judge.bidding(clock.now()).reason;
    if (now !== bidding) tell();
    bidding = now;
  });
  return {
    get current() {
      return inForce().policies;
    },
    get judge() {
      return inForce().judge;
    },
    get error() {
      return file.trouble && `${file.trouble}; the last good policies stay in force`;
    },
    onChange: (listener) => void listeners.push(listener),
    close: file.close,
  };
}

/** For whoever looks at a file without running by it. Throws what is wrong with it. */
export function readPolicyFile(path: string): Policies {
  return parsePolicies(readPolicyText(path), path);
}

function readPolicyText(path: string): string {
  try {
    return readText(path).text;
  } catch (thrown) {
    throw new ProviderError("AKP_POLICY_UNREADABLE", { path, reason: reasonOf(thrown) });
  }
}
