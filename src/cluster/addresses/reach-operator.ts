/**
 * How the IP operator is reached: at the address in the settings; from within the cluster at its Service; from outside
 * through the API server.
 */
import type { ServiceAddress } from "../../kube/service-address.ts";
import type { Clock } from "../../runtime/clock.ts";
import { bodyOf, inTime } from "../../runtime/fetch-text.ts";
import { httpUrl } from "../../runtime/http-url.ts";
import { limits } from "../../runtime/limits.ts";
import { locateOperator, type OperatorLocation, operatorNamespace, serviceNamed } from "../operator-location.ts";
import type { Get } from "./ip-operator.ts";

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
    const { status, body } = await cluster.proxy(target, { path, signal, mostBytes: limits.addressesAnswerBytes });
    return { status, body: body.toString() };
  };

  const limitMs = limits.addressesAnswerMs;
  return (path, signal) => inTime({ limitMs, clock, signal }, (until) => get(path, until));
}

async function fetchFrom(address: ServiceAddress, path: string, signal: AbortSignal) {
  // It says where it is itself; nobody sends us elsewhere.
  const answer = await fetch(`${httpUrl(address)}${path}`, { redirect: "manual", signal });
  return { status: answer.status, body: await bodyOf(answer, limits.addressesAnswerBytes) };
}
