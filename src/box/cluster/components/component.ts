/**
 * One component of the cluster. It notices changes by noting keys, and works on a key by looking at the state of the
 * world; dependencies are parameters.
 */
import type { Clock } from "../../../runtime/clock.ts";
import type { Random } from "../../../runtime/random.ts";
import type { ApiServer, ServerEvent } from "../api-server/in-process.ts";
import type { Events } from "./events.ts";
import type { View } from "./view.ts";

export interface ComponentDeps {
  readonly server: ApiServer;
  readonly view: View;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
}

export interface Component {
  /** The beginning of its keys in the queue. */
  readonly name: string;
  /** Notes which keys to look at because of a change. */
  notice(event: ServerEvent, wake: Wake): void;
  /** Reconciles a key; returns after how many milliseconds to reconcile it again, if at all. */
  work(key: string): number | undefined;
}

export type Wake = (key: string) => void;
