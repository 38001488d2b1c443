/** What containers must be like: their ports, variables, resources and probes. */
import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import { parseQuantity } from "../../../../market/quantity.ts";
import type { Found, Rule } from "./found.ts";
import { dnsLabel, fieldPath, headerName, portName, qualifiedNameFaults, variableName } from "./texts.ts";

const container: Rule = (value, at, found) => {
  found.text(`${at}.name`, value["name"], dnsLabel);
  found.when(!value["image"], "Required", `${at}.image`);
  const ports = recordsOf(value["ports"]);
  const names = ports.map(({ name }) => name);
  found.duplicates(names, (index) => `${at}.ports[${index}].name`);
  const onHost = ports.map(({ protocol, hostIP, hostPort }) => hostPort && `${protocol}/${hostIP}/${hostPort}`);
  found.duplicates(onHost, (index) => `${at}.ports[${index}].hostPort`);
  for (const probe of ["livenessProbe", "startupProbe"]) {
    const { successThreshold: successes = 1 } = fieldsOf(value[probe]);
    found.when(Number(successes) > 1, "Invalid", `${at}.${probe}.successThreshold`, successes);
  }
  const { terminationGracePeriodSeconds: grace } = fieldsOf(value["readinessProbe"]);
  found.when(grace !== undefined, "Invalid", `${at}.readinessProbe.terminationGracePeriodSeconds`, grace);
  for (const { configMapRef, secretRef } of recordsOf(value["envFrom"])) {
    found.when(!configMapRef && !secretRef, "Invalid", `${at}.envFrom`);
  }
};

const port: Rule = ({ containerPort, hostPort, name }, at, found) => {
  if (containerPort === 0) found.say("Required", `${at}.containerPort`);
  else found.port(`${at}.containerPort`, containerPort);
  if (hostPort) found.port(`${at}.hostPort`, hostPort);
  found.text(`${at}.name`, name, portName);
};

const variable: Rule = ({ name, value, valueFrom }, at, found) => {
  found.text(`${at}.name`, name, variableName);
  if (valueFrom === undefined) return;
  const sources = Object.keys(fieldsOf(valueFrom)).length;
  found.when(Boolean(value) || sources !== 1, "Invalid", `${at}.valueFrom`);
};

const standardResources = /^(cpu|memory|ephemeral-storage|hugepages-.+)$/;

const resources: Rule = (value, at, found) => {
  const [limits, requests] = [fieldsOf(value["limits"]), fieldsOf(value["requests"])];
  for (const [list, amounts] of Object.entries({ limits, requests })) {
    for (const [name, amount] of Object.entries(amounts)) checkAmount(name, amount, `${at}.${list}[${name}]`, found);
  }
  for (const [name, request] of Object.entries(requests)) {
    const limit = limits[name];
    // Without overcommit, requests must equal limits.
    const isExclusive = !standardResources.test(name) || name.startsWith("hugepages-");
    if (limit === undefined) found.when(isExclusive, "Required", `${at}.limits`);
    else {
      const isWrong = isExclusive ? nano(request) !== nano(limit) : nano(request) > nano(limit);
      found.when(isWrong, "Invalid", `${at}.requests`, request);
    }
  }
};

function checkAmount(name: string, amount: unknown, field: string, found: Found): void {
  found.when(nano(amount) < 0n, "Invalid", field, amount);
  if (standardResources.test(name)) return;
  found.when(nano(amount) % 10n ** 9n !== 0n, "Invalid", field, amount);
  const faults = qualifiedNameFaults(name);
  // Without a domain it would have to be one of the standard ones, which is said at least twice.
  const said = name.includes("/") ? faults : Math.max(2, faults + 1);
  for (let left = said; left > 0; left -= 1) found.say("Invalid", field, name);
}

/** For comparison. */
export function nano(amount: unknown): bigint {
  return parseQuantity(String(amount)).nano;
}

const handler: Rule = (value, at, found) => {
  const given = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"].filter((name) => value[name] !== undefined);
  found.when(given.length === 0, "Required", at);
  for (const name of given.slice(1)) found.say("Forbidden", `${at}.${name}`);
};

const probeNumbers = ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];

const probe: Rule = (value, at, found) => {
  handler(value, at, found);
  for (const name of probeNumbers) found.within(`${at}.${name}`, value[name], 0);
};

const portAction: Rule = (value, at, found) => found.portOrName(`${at}.port`, value["port"]);

const user: Rule = (value, at, found) => {
  for (const name of ["runAsUser", "runAsGroup", "fsGroup"]) found.within(`${at}.${name}`, value[name], 0, 2 ** 31 - 1);
};

export const containerRules: Readonly<Record<string, Rule>> = {
  "core.v1.Container": container,
  "core.v1.ContainerPort": port,
  "core.v1.EnvVar": variable,
  "core.v1.ObjectFieldSelector": (value, at, found) => found.text(`${at}.fieldPath`, value["fieldPath"], fieldPath),
  "core.v1.ResourceRequirements": resources,
  "core.v1.Probe": probe,
  "core.v1.LifecycleHandler": handler,
  "core.v1.HTTPGetAction"(value, at, found) {
    portAction(value, at, found);
    for (const { name } of recordsOf(value["httpHeaders"])) found.text(`${at}.httpHeaders`, name, headerName);
  },
  "core.v1.TCPSocketAction": portAction,
  "core.v1.GRPCAction": portAction,
  "core.v1.ExecAction": ({ command }, at, found) =>
    found.when(listOf(command).length === 0, "Required", `${at}.command`),
  "core.v1.SecurityContext": user,
  "core.v1.PodSecurityContext": user,
};
