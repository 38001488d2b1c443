/** What containers must be like: their ports, variables, resources and probes. */

import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import { parseQuantity } from "../../../../market/quantity.ts";
import type { Plain } from "../schema/shape.ts";
import type { Found, Rule } from "./found.ts";
import { dnsLabel, headerName, portName, qualifiedNameFaults, variableName } from "./texts.ts";

const mostUser = 2 ** 31 - 1;

const container: Rule = (value, at, found) => {
  found.text(`${at}.name`, value["name"], dnsLabel);
  if (!value["image"]) found.required(`${at}.image`);
  const ports = recordsOf(value["ports"]);
  found.duplicates(
    ports,
    ({ name }) => name,
    (index) => `${at}.ports[${index}].name`,
  );
  const hostPort = (port: Plain) =>
    port["hostPort"] && `${port["protocol"]}/${port["hostIP"] ?? ""}/${port["hostPort"]}`;
  found.duplicates(ports, hostPort, (index) => `${at}.ports[${index}].hostPort`);
  for (const probe of ["livenessProbe", "startupProbe"]) {
    const successes = fieldsOf(value[probe])["successThreshold"] ?? 1;
    if (Number(successes) > 1) found.invalid(`${at}.${probe}.successThreshold`, successes, "must be 1");
  }
  const { terminationGracePeriodSeconds: grace } = fieldsOf(value["readinessProbe"]);
  if (grace !== undefined) {
    const field = `${at}.readinessProbe.terminationGracePeriodSeconds`;
    found.invalid(field, grace, "must not be set for readinessProbes");
  }
  recordsOf(value["envFrom"]).forEach(({ configMapRef, secretRef }) => {
    if (configMapRef || secretRef) return;
    found.invalid(`${at}.envFrom`, "", "must specify one of: `configMapRef` or `secretRef`");
  });
};

const port: Rule = ({ containerPort, hostPort, name }, at, found) => {
  if (containerPort === 0) found.required(`${at}.containerPort`);
  else found.port(`${at}.containerPort`, containerPort);
  if (hostPort) found.port(`${at}.hostPort`, hostPort);
  found.text(`${at}.name`, name, portName);
};

const variable: Rule = ({ name, value, valueFrom }, at, found) => {
  found.text(`${at}.name`, name, variableName);
  if (valueFrom === undefined) return;
  const sources = Object.keys(fieldsOf(valueFrom)).length;
  const say = (why: string) => found.invalid(`${at}.valueFrom`, "", why);
  if (value) say("may not be specified when `value` is not empty");
  else if (sources > 1) say("may not have more than one field specified at a time");
  else if (sources === 0)
    say("must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`");
};

const fieldPaths =
  /^(metadata\.(name|namespace|uid|labels|annotations)|metadata\.(labels|annotations)\['[^']+'\]|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?))$/;

const fieldRef: Rule = ({ fieldPath }, at, found) => {
  if (!fieldPath || fieldPaths.test(String(fieldPath))) return;
  found.invalid(`${at}.fieldPath`, fieldPath, `error converting fieldPath: field label not supported: ${fieldPath}`);
};

const standardResources = /^(cpu|memory|ephemeral-storage|hugepages-.+)$/;

const resources: Rule = (value, at, found) => {
  const [limits, requests] = [fieldsOf(value["limits"]), fieldsOf(value["requests"])];
  for (const [list, amounts] of Object.entries({ limits, requests })) {
    for (const [name, amount] of Object.entries(amounts)) checkAmount(name, amount, `${at}.${list}[${name}]`, found);
  }
  for (const [name, request] of Object.entries(requests)) {
    const limit = limits[name];
    // What cannot be shared out more than once is asked for as a whole.
    const isWhole = !standardResources.test(name) || name.startsWith("hugepages-");
    if (limit === undefined) {
      if (isWhole) found.required(`${at}.limits`, "Limit must be set for non overcommitable resources");
    } else if (isWhole ? nano(request) !== nano(limit) : nano(request) > nano(limit)) {
      const relation = isWhole ? "equal" : "less than or equal";
      found.invalid(`${at}.requests`, request, `must be ${relation} to ${name} limit of ${limit}`);
    }
  }
};

function checkAmount(name: string, amount: unknown, field: string, found: Found): void {
  const isStandard = standardResources.test(name);
  if (!isStandard) {
    const faults = qualifiedNameFaults(name);
    if (!name.includes("/")) faults.push("must be a standard resource type or fully qualified");
    if (!name.includes("/") && faults.length < 2) faults.push("must be a standard resource for containers");
    for (const fault of faults) found.invalid(field, name, fault);
  }
  if (nano(amount) < 0n) found.invalid(field, amount, "must be greater than or equal to 0");
  if (!isStandard && nano(amount) % 10n ** 9n !== 0n) found.invalid(field, amount, "must be an integer");
}

/** For comparison. */
export function nano(amount: unknown): bigint {
  return parseQuantity(String(amount)).nano;
}

const handlers = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

const handler: Rule = (value, at, found) => {
  const [first, ...more] = handlers.filter((name) => value[name] !== undefined);
  if (first === undefined) found.required(at, "must specify a handler type");
  for (const name of more) found.prohibited(`${at}.${name}`, "may not specify more than 1 handler type");
};

const probe: Rule = (value, at, found) => {
  handler(value, at, found);
  for (const name of [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
  ]) {
    found.atLeast(`${at}.${name}`, value[name], 0);
  }
};

const portAction: Rule = (value, at, found) => found.portOrName(`${at}.port`, value["port"]);

const httpGet: Rule = (value, at, found) => {
  portAction(value, at, found);
  for (const { name } of recordsOf(value["httpHeaders"])) found.text(`${at}.httpHeaders`, name, headerName);
};

const command: Rule = (value, at, found) => {
  if (listOf(value["command"]).length === 0) found.required(`${at}.command`);
};

const user: Rule = (value, at, found) => {
  for (const name of ["runAsUser", "runAsGroup", "fsGroup"]) found.within(`${at}.${name}`, value[name], 0, mostUser);
  if (value["privileged"] === true && value["allowPrivilegeEscalation"] === false) {
    found.invalid(at, value, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  }
};

export const containerRules: Readonly<Record<string, Rule>> = {
  "core.v1.Container": container,
  "core.v1.ContainerPort": port,
  "core.v1.EnvVar": variable,
  "core.v1.ObjectFieldSelector": fieldRef,
  "core.v1.ResourceRequirements": resources,
  "core.v1.Probe": probe,
  "core.v1.LifecycleHandler": handler,
  "core.v1.HTTPGetAction": httpGet,
  "core.v1.TCPSocketAction": portAction,
  "core.v1.GRPCAction": portAction,
  "core.v1.ExecAction": command,
  "core.v1.SecurityContext": user,
  "core.v1.PodSecurityContext": user,
};
