/** What pods must be like: their volumes, and where they may run. */
import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import type { Plain } from "../schema/shape.ts";
import { nano } from "./container-rules.ts";
import type { Found, Rule } from "./found.ts";
import { dnsLabel, subdomain } from "./texts.ts";

const most32 = 2 ** 31 - 1;

/** Names of volumes that come with the pod from elsewhere: those of claims that a stateful set makes. */
export function checkPodSpec(spec: Plain, at: string, found: Found, given: readonly string[] = []): void {
  const volumes = recordsOf(spec["volumes"]);
  const containers = recordsOf(spec["containers"]);
  if (containers.length === 0) found.required(`${at}.containers`);
  found.duplicates(
    volumes,
    ({ name }) => name,
    (index) => `${at}.volumes[${index}].name`,
  );
  const names = new Set([...volumes.map(({ name }) => name), ...given]);
  for (const list of ["containers", "initContainers"]) {
    recordsOf(spec[list]).forEach((container, index) => {
      checkMounts(container, names, `${at}.${list}[${index}]`, found);
      if (spec["hostNetwork"] === true) checkHostPorts(container, `${at}.${list}[${index}]`, found);
    });
  }
  found.duplicates(
    containers,
    ({ name }) => name,
    (index) => `${at}.containers[${index}].name`,
  );
  checkInitContainers(spec, containers, at, found);
  found.text(`${at}.hostname`, spec["hostname"], dnsLabel);
  for (const name of ["runtimeClassName", "serviceAccountName", "nodeName", "priorityClassName"]) {
    found.text(`${at}.${name}`, spec[name], subdomain);
  }
  found.labels(`${at}.nodeSelector`, spec["nodeSelector"]);
  found.within(`${at}.activeDeadlineSeconds`, spec["activeDeadlineSeconds"], 1, most32);
  if (spec["dnsPolicy"] === "None" && spec["dnsConfig"] === undefined) {
    found.required(`${at}.dnsConfig`, "must provide `dnsConfig` when `dnsPolicy` is None");
  }
}

function checkMounts(container: Plain, volumes: ReadonlySet<unknown>, at: string, found: Found): void {
  const paths = new Set<unknown>();
  recordsOf(container["volumeMounts"]).forEach(({ name, mountPath, subPath }, index) => {
    const field = `${at}.volumeMounts[${index}]`;
    if (name && !volumes.has(name)) found.notThere(`${field}.name`, name);
    if (mountPath && paths.has(mountPath)) found.invalid(`${field}.mountPath`, mountPath, "must be unique");
    paths.add(mountPath);
    checkInside(`${at}.volumeMounts.subPath`, subPath, found);
  });
}

/** A path that stays within what it begins in. */
function checkInside(field: string, path: unknown, found: Found): void {
  if (typeof path !== "string") return;
  if (path.startsWith("/")) found.invalid(field, path, "must be a relative path");
  if (path.split("/").includes("..")) found.invalid(field, path, "must not contain '..'");
}

function checkHostPorts(container: Plain, at: string, found: Found): void {
  recordsOf(container["ports"]).forEach(({ containerPort, hostPort }, index) => {
    if (hostPort === containerPort) return;
    found.invalid(`${at}.ports[${index}].hostPort`, hostPort, "must match `containerPort` when `hostNetwork` is true");
  });
}

function checkInitContainers(spec: Plain, containers: readonly Plain[], at: string, found: Found): void {
  const nameAt = (index: number) => `${at}.initContainers[${index}].name`;
  found.duplicates(recordsOf(spec["initContainers"]), ({ name }) => name, nameAt, containers);
  recordsOf(spec["initContainers"]).forEach((container, index) => {
    if (container["restartPolicy"] === "Always") return;
    for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) {
      if (container[probe] === undefined) continue;
      const why = "may not be set for init containers without restartPolicy=Always";
      found.prohibited(`${at}.initContainers[${index}].${probe}`, why);
    }
  });
}

/** In the order in which the API server looks at them: all but the first are too many. */
const volumeSources = [
  "emptyDir",
  "hostPath",
  "secret",
  "nfs",
  "persistentVolumeClaim",
  "downwardAPI",
  "configMap",
  "projected",
  "csi",
  "ephemeral",
];

const volume: Rule = (value, at, found) => {
  found.text(`${at}.name`, value["name"], dnsLabel);
  const [, ...more] = volumeSources.filter((name) => value[name] !== undefined);
  for (const name of more) found.prohibited(`${at}.${name}`, "may not specify more than 1 volume type");
  const { sizeLimit } = fieldsOf(value["emptyDir"]);
  if (sizeLimit !== undefined && nano(sizeLimit) < 0n) {
    found.prohibited(`${at}.emptyDir.sizeLimit`, "SizeLimit field must be a valid resource quantity");
  }
  const { path } = fieldsOf(value["hostPath"]);
  if (String(path).split("/").includes("..")) found.invalid(`${at}.hostPath.path`, path, "must not contain '..'");
  for (const name of ["secret", "configMap", "downwardAPI", "projected"]) {
    const { defaultMode } = fieldsOf(value[name]);
    if (typeof defaultMode !== "number" || (defaultMode >= 0 && defaultMode <= 0o777)) continue;
    const why = "must be a number between 0 and 0777 (octal), both inclusive";
    found.invalid(`${at}.${name}.defaultMode`, defaultMode, why);
  }
};

const toleration: Rule = ({ key, operator, value, effect, tolerationSeconds }, at, found) => {
  const say = (why: string) => found.invalid(`${at}.operator`, operator ?? "", why);
  if (key) found.qualified(`${at}.key`, String(key));
  else if (operator !== "Exists") say("operator must be Exists when `key` is empty");
  if (operator === "Exists" && value) say("value must be empty when `operator` is 'Exists'");
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    found.invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
};

const nodeSelector: Rule = (value, at, found) => {
  if (listOf(value["nodeSelectorTerms"]).length > 0) return;
  found.required(`${at}.nodeSelectorTerms`, "must have at least one node selector term");
};

/** Of labels of objects, and of nodes, whose values can also be compared. */
function requirement(operators: readonly string[]): Rule {
  return ({ key, operator, values }, at, found) => {
    if (key) found.qualified(`${at}.key`, String(key));
    const count = listOf(values).length;
    if (!operators.includes(String(operator)))
      found.invalid(`${at}.operator`, operator, "not a valid selector operator");
    else if (operator === "In" || operator === "NotIn") {
      if (count === 0) found.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (count > 0)
        found.prohibited(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    } else if (count !== 1)
      found.required(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
  };
}

const labelOperators = ["In", "NotIn", "Exists", "DoesNotExist"];

const labelSelector: Rule = (value, at, found) => found.labels(`${at}.matchLabels`, value["matchLabels"]);

const affinityTerm: Rule = (value, at, found) =>
  found.qualified(`${at}.topologyKey`, String(value["topologyKey"] ?? ""));

const spread: Rule = ({ maxSkew }, at, found) => {
  if (Number(maxSkew) <= 0) found.invalid(`${at}.maxSkew`, maxSkew, "must be greater than zero");
};

export const podRules: Readonly<Record<string, Rule>> = {
  "core.v1.Pod": ({ spec }, _, found) => checkPodSpec(fieldsOf(spec), "spec", found),
  "core.v1.Volume": volume,
  "core.v1.Toleration": toleration,
  "core.v1.NodeSelector": nodeSelector,
  "core.v1.NodeSelectorRequirement": requirement([...labelOperators, "Gt", "Lt"]),
  "meta.v1.LabelSelectorRequirement": requirement(labelOperators),
  "meta.v1.LabelSelector": labelSelector,
  "core.v1.PodAffinityTerm": affinityTerm,
  "core.v1.TopologySpreadConstraint": spread,
  "core.v1.HostAlias": ({ ip }, at, found) => found.address(`${at}.ip`, ip),
};
