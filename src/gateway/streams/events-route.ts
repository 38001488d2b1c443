/** What happened to a lease and what happens to it, each in a frame of its own. */
import type { Address } from "../../market/address.ts";
import { bidOn } from "../../market/ids.ts";
import { goJson } from "../../market/sorted-json.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createFairTurns } from "../../runtime/fair-turns.ts";
import type { StreamRoute } from "../rest/route.ts";
import type { TenantEvent, TenantPods } from "../tenant-side.ts";
import { closeCodes } from "./close-codes.ts";
import { permittedServices, readStreamParameters } from "./stream-parameters.ts";
import type { TenantStream } from "./tenant-stream.ts";

/** Of these to one reader before others have their turn: about a millisecond. */
const eventsToldAtOnce = 64;

interface EventsRouteDeps {
  readonly provider: Address;
  readonly pods: Pick<TenantPods, "events">;
  readonly clock: Pick<Clock, "yield">;
}

const scope = "events";

export function eventsRoute({ provider, pods, clock }: EventsRouteDeps): StreamRoute {
  /** What happens to one lease is told to all who follow it in one moment: others need not wait until all are told. */
  const inTurn = createFairTurns(1);
  const frames = new WeakMap<TenantEvent, string>();

  function frameOf(event: TenantEvent): string {
    const frame = frames.get(event) ?? frameText(event);
    frames.set(event, frame);
    return frame;
  }

  async function tell(batch: readonly TenantEvent[], { send, signal }: TenantStream, owner: Address): Promise<void> {
    const rest = batch.values();
    for (let isOver = false; !isOver && !signal.aborted; ) {
      let room: Promise<void> | undefined;
      await inTurn(owner, () => {
        for (let sent = 0; sent < eventsToldAtOnce && !room; sent += 1) {
          const { value, done } = rest.next();
          isOver = done === true;
          if (!value) break;
          room = send(frameOf(value));
        }
        return clock.yield();
      });
      await room;
    }
  }

  return {
    ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/kubeevents", access: "stream", scope },
    about:
      "What happened to the pods of a lease and what is done for it; with `follow`, also what happens from then on.",
    answers: {
      101: "A WebSocket with one event in each frame.",
      400: "The parameters make no sense, or it is no WebSocket.",
      401: "Not the lease's owner, or not for this.",
    },
    prepare({ query, identity, owner, dseq, gseq, oseq }) {
      const asked = readStreamParameters(query);
      if ("status" in asked) return asked;
      const lease = bidOn({ owner, dseq, gseq, oseq }, provider);
      const services = permittedServices(asked.services, identity.servicesOf(lease, scope));
      return async (stream) => {
        const { signal } = stream;
        for await (const batch of pods.events(lease, { services, follow: asked.follow, signal }))
          await tell(batch, stream, owner);
        return { code: closeCodes.done };
      };
    },
  };
}

/** As Go writes it; who did not give its name has none. */
function frameText({ type, reportingController, reportingInstance, reason, note, object }: TenantEvent): string {
  const { kind, namespace, name } = object;
  const text = goJson({
    type,
    ...(reportingController !== "" && { reportingController }),
    ...(reportingInstance !== "" && { reportingInstance }),
    ...{ reason, note, object: { kind, namespace, name } },
  });
  return `${text}\n`;
}
