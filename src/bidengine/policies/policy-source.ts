/** The policies in force, and why the file is not. */
import type { Clock } from "../../runtime/clock.ts";
import { ProviderError, reasonOf } from "../../runtime/errors.ts";
import { followFile, readText } from "../../runtime/followed-file.ts";
import type { Log } from "../../runtime/log.ts";
import { judgeBy } from "./judgement.ts";
import { noPolicies, type Policies, parsePolicies } from "./policies.ts";

export type PolicySource = ReturnType<typeof createPolicySource>;

/** Without a file nothing is rejected. Throws the file's first faults: a provider must not start without its policies. */
export function createPolicySource(path: string | undefined, { clock, log }: { clock: Clock; log: Log }) {
  const listeners: (() => void)[] = [];
  const notify = () => {
    for (const listener of listeners) listener();
  };
  const read = (text: string) => {
    const policies = path === undefined ? noPolicies : parsePolicies(text, path);
    return { policies, judge: judgeBy(policies) };
  };
  const first = read(path === undefined ? "" : readPolicyText(path));
  const deps = { clock, log: log.with({ module: "policies" }) };
  const file = path === undefined ? undefined : followFile({ path, read, what: "policy file" }, deps);
  const inForce = () => file?.current ?? first;
  file?.onChange(notify);
  let bidding = first.judge.bidding(clock.now()).reason;
  file?.onLook(() => {
    const now = inForce().judge.bidding(clock.now()).reason;
    if (now !== bidding) notify();
    bidding = now;
  });
  return {
    get current(): Policies {
      return inForce().policies;
    },
    get judge() {
      return inForce().judge;
    },
    get error(): string | undefined {
      return file?.trouble && `${file.trouble}; the last good policies stay in force`;
    },
    /** Notified when the file has changed, or a maintenance window begins or ends. */
    onChange: (listener: () => void) => void listeners.push(listener),
    close: () => file?.close(),
  };
}

/** For commands. Throws the faults of the file. */
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
