/** What claims, config maps, secrets, permissions and locks must be like. */
import { fieldsOf, listOf } from "../../../../kube/json-fields.ts";
import { parseJson } from "../../../../runtime/parse-json.ts";
import type { Plain } from "../schema/shape.ts";
import { nano } from "./container-rules.ts";
import type { Rule } from "./found.ts";
import { fileName, subdomain } from "./texts.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

const claimSpec: Rule = (spec, at, found) => {
  const modes = listOf(spec["accessModes"]).map(String);
  found.when(modes.length === 0, "Required", `${at}.accessModes`);
  for (const mode of modes) found.when(!accessModes.includes(mode), "NotSupported", `${at}.accessModes`, mode);
  const { storage } = fieldsOf(fieldsOf(spec["resources"])["requests"]);
  if (storage === undefined) found.say("Required", `${at}.resources[storage]`);
  else found.when(nano(storage) <= 0n, "Invalid", `${at}.resources[storage]`, storage);
  found.text(`${at}.storageClassName`, spec["storageClassName"], subdomain);
};

/** What etcd holds of one. */
const mostDataBytes = 1024 * 1024;

const configMap: Rule = ({ data, binaryData }, _, found) => {
  const [texts, blobs] = [fieldsOf(data), fieldsOf(binaryData)];
  for (const name of Object.keys(texts)) {
    found.text(`data[${name}]`, name, fileName);
    found.when(name in blobs, "Invalid", `data[${name}]`, name);
  }
  for (const name of Object.keys(blobs)) found.text(`binaryData[${name}]`, name, fileName);
  found.when(bytesIn(texts, "utf8") + bytesIn(blobs, "base64") > mostDataBytes, "TooLong", "[]");
};

const credentials = ".dockerconfigjson";

const neededKeys: Readonly<Record<string, readonly string[]>> = {
  "kubernetes.io/dockerconfigjson": [credentials],
  "kubernetes.io/tls": ["tls.crt", "tls.key"],
};

const secret: Rule = ({ data, type }, _, found) => {
  const blobs = fieldsOf(data);
  for (const name of Object.keys(blobs)) found.text(`data[${name}]`, name, fileName);
  found.when(bytesIn(blobs, "base64") > mostDataBytes, "TooLong", "data");
  const needed = neededKeys[String(type)] ?? [];
  for (const name of needed) found.when(blobs[name] === undefined, "Required", `data[${name}]`);
  if (!needed.includes(credentials) || blobs[credentials] === undefined) return;
  const text = Buffer.from(String(blobs[credentials]), "base64").toString();
  found.when(parseJson(text) === undefined, "Invalid", `data[${credentials}]`);
};

function bytesIn(values: Plain, encoding: "utf8" | "base64"): number {
  return Object.values(values).reduce<number>((sum, each) => sum + Buffer.byteLength(String(each), encoding), 0);
}

function ofKind(...known: readonly string[]): Rule {
  return ({ kind }, at, found) => found.when(!known.includes(String(kind)), "NotSupported", `${at}.kind`, kind);
}

export const objectRules: Readonly<Record<string, Rule>> = {
  "core.v1.PersistentVolumeClaimSpec": claimSpec,
  "core.v1.ConfigMap": configMap,
  "core.v1.Secret": secret,
  "rbac.v1.RoleRef": ofKind("Role", "ClusterRole"),
  "rbac.v1.Subject": ofKind("ServiceAccount", "User", "Group"),
  "rbac.v1.PolicyRule"(value, at, found) {
    for (const name of ["verbs", "resources"])
      found.when(listOf(value[name]).length === 0, "Required", `${at}.${name}`);
  },
  "coordination.v1.LeaseSpec": ({ leaseDurationSeconds: seconds }, at, found) =>
    found.within(`${at}.leaseDurationSeconds`, seconds, 1),
};
