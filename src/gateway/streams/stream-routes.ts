/** Streams of logs and events of a lease, a frame for each line or event. */

import type {
  LogsRequest,
  PodLine,
  TenantEvent,
  TenantLease,
  TenantLeases,
  TenantPods,
} from "../../kube/tenant-access.ts";
import type { Address } from "../../market/address.ts";
import { goQuote } from "../../market/go-json.ts";
import { bidOn } from "../../market/ids.ts";
import { goJson } from "../../market/sorted-json.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createFairSemaphore } from "../../runtime/semaphore.ts";
import { checkAllowed } from "../auth/identity.ts";
import { failure, type RestAnswer } from "../rest/answer.ts";
import type { StreamRoute } from "../rest/route.ts";
import { type Close, closeCodes, type StreamHandler, type TenantStream } from "./tenant-stream.ts";

interface LogsRouteDeps {
  readonly provider: Address;
  readonly leases: Pick<TenantLeases, "find">;
  readonly pods: Pick<TenantPods, "logs">;
}

const noPods = { code: closeCodes.internal, reason: "no running pods" };

export function logsRoute({ provider, leases, pods }: LogsRouteDeps): StreamRoute {
  return {
    ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/logs", access: "stream", scope: "logs" },
    about: "Output of a lease's containers, line by line, over a WebSocket.",
    answers: { 101: "The stream.", 400: "The query is invalid.", 401: "Not the lease's owner, or not permitted." },
    prepare(request): ReturnType<StreamRoute["prepare"]> {
      const parameters = readStreamParameters(request.query);
      if ("status" in parameters) return parameters;
      const services = permittedServices(parameters.services, request.identity.servicesOf(request, "logs"));
      const lease = bidOn(request, provider);
      const stream: StreamHandler = async ({ send, signal }) => {
        const options = { ...parameters, services, signal };
        const missing = missingPods(leases.find(lease), options);
        if (missing) return missing;
        for await (const lines of pods.logs(lease, options)) {
          for (const line of lines) {
            const room = send(frameOf(line));
            if (room) await room;
            if (signal.aborted) break;
          }
        }
        return { code: closeCodes.done };
      };
      return stream;
    },
  };
}

/** Where there is nothing to read; pods that are followed may come later. */
function missingPods(lease: TenantLease, { services, follow }: LogsRequest): Close | undefined {
  if (lease.state !== "running") return { code: closeCodes.notFound };
  const selected = lease.services.filter(({ name }) => services?.has(name) ?? true);
  return selected.some(({ replicas }) => follow || replicas > 0) ? undefined : noPods;
}

function frameOf({ pod, text }: PodLine): string {
  // Go escapes what is not UTF-8. Names of pods need no escapes.
  return `{"name":"${pod}","message":${goJson(text).replaceAll("\ufffd", "\\ufffd")}}\n`;
}

/** Events sent to one client before others have their turn: about a millisecond. */
const eventsAtOnce = 64;

interface EventsRouteDeps {
  readonly provider: Address;
  readonly pods: Pick<TenantPods, "events">;
  readonly clock: Pick<Clock, "yield">;
}

export function eventsRoute({ provider, pods, clock }: EventsRouteDeps): StreamRoute {
  /** Many clients may follow one lease; those of other leases need not wait for all of them. */
  const inTurn = createFairSemaphore(1);
  const frames = new WeakMap<TenantEvent, string>();

  function eventFrame(event: TenantEvent): string {
    const frame = frames.get(event) ?? frameText(event);
    frames.set(event, frame);
    return frame;
  }

  async function sendBatch(
    batch: readonly TenantEvent[],
    { send, signal }: TenantStream,
    owner: Address,
  ): Promise<void> {
    const rest = batch.values();
    for (let isOver = false; !isOver && !signal.aborted; ) {
      let room: Promise<void> | undefined;
      await inTurn(owner, () => {
        for (let sent = 0; sent < eventsAtOnce && !room; sent += 1) {
          const { value, done } = rest.next();
          isOver = done === true;
          if (!value) break;
          room = send(eventFrame(value));
        }
        return clock.yield();
      });
      await room;
    }
  }

  return {
    ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/kubeevents", access: "stream", scope: "events" },
    about: "Past events of a lease and its pods; with `follow`, also new ones.",
    answers: {
      101: "A WebSocket with one event in each frame.",
      400: "The query is invalid, or it is not a WebSocket.",
      401: "Not the lease's owner, or not permitted.",
    },
    prepare({ query, identity, owner, dseq, gseq, oseq }) {
      const parameters = readStreamParameters(query);
      if ("status" in parameters) return parameters;
      const { follow } = parameters;
      const lease = bidOn({ owner, dseq, gseq, oseq }, provider);
      const services = permittedServices(parameters.services, identity.servicesOf(lease, "events"));
      return async (stream) => {
        const { signal } = stream;
        for await (const batch of pods.events(lease, { services, follow, signal }))
          await sendBatch(batch, stream, owner);
        return { code: closeCodes.done };
      };
    },
  };
}

/** With the fields and the order of the Go provider. */
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

// Queries are read as the Go provider does, with its error messages.

export type StreamParameters = Pick<LogsRequest, "services" | "follow" | "tail">;

/** A response where the query is invalid. Empty parameters are as if absent. */
export function readStreamParameters(query: URLSearchParams): StreamParameters | RestAnswer {
  // The network's CLI sends the first, other clients the second.
  const named = query.get("service") || query.get("services") || "";
  if (named.endsWith(",")) return failure(400, 'parameter "service" must not contain trailing comma');
  const followText = query.get("follow") || "false";
  const follow = bools.get(followText);
  if (follow === undefined) return failure(400, parseError("ParseBool", followText, "invalid syntax"));
  const tail = readTail(query.get("tail") || "-1");
  if (typeof tail === "object") return tail;
  const names = named.split(",").map((name) => name.trim());
  return { services: named === "" ? undefined : new Set(names), follow, tail: tail < 0 ? undefined : tail };
}

/** Throws for a named service that the credentials do not permit. */
export function permittedServices(
  named: ReadonlySet<string> | undefined,
  given: ReadonlySet<string> | undefined,
): ReadonlySet<string> | undefined {
  if (!named || !given) return named ?? given;
  checkAllowed(named.isSubsetOf(given));
  return named;
}

const bools = new Map<string, boolean>([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

function readTail(text: string): number | RestAnswer {
  if (!/^[+-]?[0-9]+$/.test(text)) return failure(400, parseError("ParseInt", text, "invalid syntax"));
  const value = Number(text);
  if (value < -(2 ** 31) || value >= 2 ** 31) return failure(400, parseError("ParseInt", text, "value out of range"));
  return value < -1 ? failure(400, 'parameter "tail" contains invalid value') : value;
}

function parseError(reader: string, text: string, reason: string): string {
  return `strconv.${reader}: parsing ${goQuote(text)}: ${reason}`;
}
