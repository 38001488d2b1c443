/**
 * NGINX Gateway Fabric. The annotations are the network's, which its own operator writes and the Fabric does not read; what it
 * does read are policies that name the route.
 */
import { type Kind, kinds } from "../../../kube/kinds.ts";
import { providerHostName } from "../../../kube/objects/provider-host.ts";
import type { Directive } from "../directive.ts";
import { notHonoured, notServed, partMeta, wholeSeconds } from "./backend.ts";
import type { Extras, GatewayOptions } from "./gateway-api.ts";
import { nginxCase } from "./ingress-nginx.ts";
import { clientSettingsPolicy, proxySettingsPolicy } from "./kinds.ts";

const prefix = "nginx.org/";

export function fabricExtras(
  directive: Directive,
  options: Pick<GatewayOptions, "proxyBufferSize">,
  isServed: (kind: Kind) => boolean,
): Extras {
  const policies = [clientPolicy(directive), proxyPolicy(directive, bufferOf(directive, options))];
  const policyKinds = policies.map(({ kind }) => kind);
  const tries = "NGINX Gateway Fabric has no policy for trying another workload";
  return {
    annotations: annotationsOf(directive, options),
    policies: policies.filter(({ kind }) => isServed(kind)),
    unhonoured: [
      ...notServed(policyKinds, isServed, "what they would set is the Gateway's own"),
      ...notHonoured(directive, { nextTries: tries, nextTimeoutMs: tries, nextCases: tries }),
    ],
  };
}

function annotationsOf(directive: Directive, options: Pick<GatewayOptions, "proxyBufferSize">): Record<string, string> {
  const { maxBodyBytes, readTimeoutMs, sendTimeoutMs, nextTries, nextTimeoutMs, nextCases } = directive.options;
  const values = {
    "client-max-body-size": maxBodyBytes,
    "proxy-read-timeout": wholeSeconds(readTimeoutMs),
    "proxy-send-timeout": wholeSeconds(sendTimeoutMs),
    "proxy-next-upstream-tries": nextTries,
    "proxy-buffer-size": bufferOf(directive, options),
    ...(nextTimeoutMs > 0 && { "proxy-next-upstream-timeout": `${wholeSeconds(nextTimeoutMs)}s` }),
    ...(nextCases.length > 0 && { "proxy-next-upstream": nextCases.map(nginxCase).join(" ") }),
  };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, `${value}`]));
}

function bufferOf(
  { options: { proxyBufferBytes } }: Directive,
  { proxyBufferSize }: Pick<GatewayOptions, "proxyBufferSize">,
) {
  return proxyBufferBytes === undefined ? proxyBufferSize : fabricSize(proxyBufferBytes);
}

function clientPolicy(directive: Directive) {
  const spec = { targetRef: targetOf(directive), body: { maxSize: fabricSize(directive.options.maxBodyBytes) } };
  return { kind: clientSettingsPolicy, object: { metadata: partMeta(directive, "client"), spec } };
}

function proxyPolicy(directive: Directive, size: string) {
  const { readTimeoutMs, sendTimeoutMs } = directive.options;
  const timeout = { read: `${wholeSeconds(readTimeoutMs)}s`, send: `${wholeSeconds(sendTimeoutMs)}s` };
  // NGINX refuses its whole configuration where the other buffers are not larger together than this one twice.
  const buffering = { bufferSize: size, buffers: { number: 8, size } };
  const spec = { targetRefs: [targetOf(directive)], timeout, buffering };
  return { kind: proxySettingsPolicy, object: { metadata: partMeta(directive, "proxy"), spec } };
}

function targetOf({ host }: Directive) {
  const { group, kind } = kinds.httpRoute;
  return { group, kind, name: providerHostName(host) };
}

/** Its sizes have four digits at most; what does not fit is rounded up. */
export function fabricSize(bytes: number): string {
  for (const [unit, of] of [
    ["", 1],
    ["k", 2 ** 10],
    ["m", 2 ** 20],
  ] as const) {
    if (Math.ceil(bytes / of) <= 9_999) return `${Math.ceil(bytes / of)}${unit}`;
  }
  return `${Math.ceil(bytes / 2 ** 30)}g`;
}
