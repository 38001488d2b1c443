/** Our own client against a real API server, closed when the test ends. */
import { createHttpKube } from "../../src/kube/http/http-kube.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { type Clock, realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import type { Owner } from "../support/owner.ts";

export interface OpenKubeOptions {
  readonly fieldManager?: string;
  readonly clock?: Clock;
}

export function openKube(owner: Owner, kubeconfig: string, options: OpenKubeOptions = {}): Kube {
  const { fieldManager = "akash-provider", clock = realClock } = options;
  const kube = createHttpKube({ kubeconfig, fieldManager }, { clock, random: realRandom, log: silentLog });
  owner.after(() => kube.close());
  return kube;
}

/** A clock that runs this many times too fast, for deadlines of minutes. */
export function hastyClock(times: number): Clock {
  return {
    now: () => realClock.now(),
    monotonicMs: () => realClock.monotonicMs() * times,
    timer: (delayMs, fire) => realClock.timer(delayMs / times, fire),
    yield: () => realClock.yield(),
  };
}
