/**
 * How the IP operator is reached: at the address in the settings; from within the cluster at its Service; from outside
 * through the API server.
 */
import type { ServiceAddress } from "../../../kube/service-address.ts";
import type { Clock } from "../../../runtime/clock.ts";
import { second } from "../../../runtime/durations.ts";
import { bodyOf, inTime } from "../../../runtime/fetch-text.ts";
import { httpUrl } from "../../../runtime/http-url.ts";
import { locateOperator, type OperatorLocation, operatorNamespace, serviceNamed } from "../operator-location.ts";
import type { Get } from "./ip-operator.ts";

/** One answer of it: it has them prepared, or asks the API server for a few Services. */
export const addressesAnswerMs = 5 * second;
/** The longest one: a lease with hundreds of ports. */
export const addressesAnswerBytes = 1024 * 1024;

const name = "operator-ip";
const portName = "rest";
const sought = {
  operator: "IP operator",
  setting: "--ip-operator-endpoint",
  portName,
  ...serviceNamed(name),
} as const;

export function createGet(location: OperatorLocation, clock: Clock): Get {
  const get: Get = async (path, signal) => {
    if (location.endpoint || location.inCluster)
      return fetchFrom(await locateOperator(sought, location, signal), path, signal);
    const target = { kind: "service", namespace: operatorNamespace, name, port: portName } as const;
    const cluster = await location.kube;
    const { status, body } = await cluster.proxy(target, { path, signal, mostBytes: addressesAnswerBytes });
    return { status, body: body.toString() };
  };

  const limitMs = addressesAnswerMs;
  return (path, signal) => inTime({ limitMs, clock, signal }, (until) => get(path, until));
}

async function fetchFrom(address: ServiceAddress, path: string, signal: AbortSignal) {
  // It says where it is itself; nobody sends us elsewhere.
  const answer = await fetch(`${httpUrl(address)}${path}`, { redirect: "manual", signal });
  return { status: answer.status, body: await bodyOf(answer, addressesAnswerBytes) };
}
