/** What nearly every part takes from outside, so that tests can drive it. */
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Random } from "./random.ts";

export interface RuntimeDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}
