/** A control loop: its queue, what wakes it, and the status that it publishes. */
import type { Scope } from "./lifecycle.ts";
import { createQueue, type Queue, type QueueOptions } from "./queue.ts";
import type { Throttled } from "./throttle.ts";

interface ControllerOptions extends Omit<QueueOptions, "work"> {
  /** Looks at one key: reads the state of the world and makes the smallest change. */
  readonly reconcile: QueueOptions["work"];
  /** Called when it starts: subscribes to what concerns keys, and adds those that are there already. */
  readonly watch?: (add: Queue["add"], onStop: Scope["onStop"]) => void;
  /** Publishes the status (`changedStatuses`): asked at the start, and by whatever changes it. */
  readonly status?: Throttled;
}

export interface Controller extends Pick<Queue, "add"> {
  /** For the service that lists it: its counts are shown in status and metrics. */
  readonly queue: Queue;
  /** Works until the service stops. */
  start(scope: Pick<Scope, "task" | "onStop">): void;
}

export function defineController({ reconcile, watch, status, ...options }: ControllerOptions): Controller {
  const queue = createQueue({ ...options, work: reconcile });
  return {
    queue,
    add: queue.add,
    start({ task, onStop }) {
      watch?.(queue.add, onStop);
      if (status) onStop(status.stop);
      task(options.name, queue.run);
      status?.ask();
    },
  };
}
