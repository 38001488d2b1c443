/** What deployments, stateful sets and their like must be like. */
import { fieldsOf, listOf, recordsOf } from "../../../../kube/json-fields.ts";
import { type LabelSelector, selects } from "../objects/label-selector.ts";
import type { Plain } from "../schema/shape.ts";
import type { Found, Rule } from "./found.ts";
import { checkAnnotations } from "./metadata-rules.ts";
import { checkPodSpec } from "./pod-rules.ts";
import { dnsLabel } from "./texts.ts";

/** What a set of pods has, whatever makes it. */
const workload: Rule = (spec, at, found) => {
  for (const name of ["replicas", "minReadySeconds", "revisionHistoryLimit"])
    found.atLeast(`${at}.${name}`, spec[name], 0);
  checkSelector(spec, at, found);
  const template = fieldsOf(spec["template"]);
  const { labels, annotations } = fieldsOf(template["metadata"]);
  found.labels(`${at}.template.labels`, labels);
  checkAnnotations(`${at}.template.annotations`, annotations, found);
  const pod = fieldsOf(template["spec"]);
  const claims = listOf(spec["volumeClaimTemplates"]).map((claim) =>
    String(fieldsOf(fieldsOf(claim)["metadata"])["name"]),
  );
  checkPodSpec(pod, `${at}.template.spec`, found, claims);
  const { restartPolicy } = pod;
  if (restartPolicy !== "Always") found.unsupported(`${at}.template.spec.restartPolicy`, restartPolicy, ["Always"]);
};

function checkSelector(spec: Plain, at: string, found: Found): void {
  const labels = fieldsOf(fieldsOf(fieldsOf(spec["template"])["metadata"])["labels"]) as Record<string, string>;
  const mismatch = () =>
    found.invalid(`${at}.template.metadata.labels`, labels, "`selector` does not match template `labels`");
  // That there is none is said by the schema.
  if (spec["selector"] === undefined) {
    mismatch();
    return;
  }
  const selector = fieldsOf(spec["selector"]) as LabelSelector;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (Object.keys(matchLabels).length + matchExpressions.length === 0) {
    found.invalid(`${at}.selector`, {}, "empty selector is invalid");
    return;
  }
  const isRead = matchExpressions.every(({ operator, values = [] }) =>
    operator === "In" || operator === "NotIn" ? values.length > 0 : /^(Exists|DoesNotExist)$/.test(operator),
  );
  if (!isRead) found.invalid(`${at}.selector`, selector, "invalid label selector");
  else if (!selects(selector, labels)) mismatch();
}

const deployment: Rule = (spec, at, found) => {
  workload(spec, at, found);
  const { minReadySeconds = 0, progressDeadlineSeconds } = spec;
  if (Number(progressDeadlineSeconds) <= Number(minReadySeconds)) {
    found.invalid(`${at}.progressDeadlineSeconds`, progressDeadlineSeconds, "must be greater than minReadySeconds");
  }
};

const strategy: Rule = ({ type, rollingUpdate }, at, found) => {
  if (type !== "Recreate" && type !== "RollingUpdate") found.unsupported(at, { type }, ["Recreate", "RollingUpdate"]);
  if (type === "Recreate" && rollingUpdate !== undefined) {
    found.prohibited(`${at}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'");
  }
};

const rollingUpdate: Rule = ({ maxSurge, maxUnavailable }, at, found) => {
  for (const [name, value] of Object.entries({ maxSurge, maxUnavailable })) {
    found.atLeast(`${at}.${name}`, value, 0);
    if (typeof value === "string" && !/^\d+%$/.test(value)) {
      found.invalid(
        `${at}.${name}`,
        value,
        "a valid percent string must be a numeric string followed by an ending '%'",
      );
    }
  }
  const none = (value: unknown) => value === 0 || value === "0%";
  if (none(maxSurge) && none(maxUnavailable)) {
    found.invalid(`${at}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0");
  }
};

const statefulSet: Rule = (spec, at, found) => {
  workload(spec, at, found);
  found.text(`${at}.serviceName`, spec["serviceName"], dnsLabel);
  const { podManagementPolicy: policy, updateStrategy } = spec;
  if (policy !== "OrderedReady" && policy !== "Parallel") {
    found.invalid(`${at}.podManagementPolicy`, policy, "must be 'OrderedReady' or 'Parallel'");
  }
  const { type } = fieldsOf(updateStrategy);
  if (type !== "RollingUpdate" && type !== "OnDelete") {
    found.invalid(`${at}.updateStrategy`, updateStrategy, "must be 'RollingUpdate' or 'OnDelete'");
  }
  recordsOf(spec["volumeClaimTemplates"]).forEach((claim, index) => {
    found.text(`${at}.template.spec.volumes[${index}].name`, fieldsOf(claim["metadata"])["name"], dnsLabel);
  });
};

export const workloadRules: Readonly<Record<string, Rule>> = {
  "apps.v1.DeploymentSpec": deployment,
  "apps.v1.DeploymentStrategy": strategy,
  "apps.v1.RollingUpdateDeployment": rollingUpdate,
  "apps.v1.StatefulSetSpec": statefulSet,
  "apps.v1.ReplicaSetSpec": workload,
};
