/** What the containers of a lease print: a frame for each line, with the pod that it is from. */
import type { Address } from "../../market/address.ts";
import { bidOn } from "../../market/ids.ts";
import { goJson } from "../../market/sorted-json.ts";
import type { StreamRoute } from "../rest/route.ts";
import type { LogsAsked, PodLine, TenantLeases, TenantPods } from "../tenant-side.ts";
import { closeCodes } from "./close-codes.ts";
import { permittedServices, readStreamParameters } from "./stream-parameters.ts";
import type { Close, StreamHandler } from "./tenant-stream.ts";

interface LogsRouteDeps {
  readonly provider: Address;
  readonly leases: Pick<TenantLeases, "find">;
  readonly pods: Pick<TenantPods, "logs">;
}

const scope = "logs";
const noPods = { code: closeCodes.internal, reason: "no running pods" };

export function logsRoute({ provider, leases, pods }: LogsRouteDeps): StreamRoute {
  return {
    ...{ method: "GET", path: "/lease/{dseq}/{gseq}/{oseq}/logs", access: "stream", scope },
    about: "What the containers of a lease print, line by line, over a WebSocket.",
    answers: { 101: "The stream.", 400: "The query makes no sense.", 401: "Not the lease's owner, or not for this." },
    prepare(request): ReturnType<StreamRoute["prepare"]> {
      const asked = readStreamParameters(request.query);
      if ("status" in asked) return asked;
      const services = permittedServices(asked.services, request.identity.servicesOf(request, scope));
      const lease = bidOn(request, provider);
      const stream: StreamHandler = async ({ send, signal }) => {
        const options = { ...asked, services, signal };
        const refused = refusalOf(leases.find(lease), options);
        if (refused) return refused;
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

/** Where there is nothing to be read; what is followed may come yet. */
function refusalOf(lease: ReturnType<TenantLeases["find"]>, { services, follow }: LogsAsked): Close | undefined {
  if (lease.state !== "running") return { code: closeCodes.notFound };
  const asked = lease.services.filter(({ name }) => services?.has(name) ?? true);
  const canBe = follow ? asked.length > 0 : asked.some(({ replicas }) => replicas > 0);
  return canBe ? undefined : noPods;
}

/** Go writes so what is no UTF-8. */
const replacement = /\ufffd/g;

function frameOf({ pod, text }: PodLine): string {
  const json = goJson(text);
  const message = json.includes("\ufffd") ? json.replace(replacement, "\\ufffd") : json;
  // The name of a pod has nothing in it that would have to be escaped.
  return `{"name":"${pod}","message":${message}}\n`;
}
