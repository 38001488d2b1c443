import assert from "node:assert/strict";
import { test } from "node:test";
import { rbdClass, storageClass, volume } from "../../../../test/storage-samples.ts";
import { readStorageClass, soldClasses } from "./storage-class.ts";
import { readVolume, sumVolumes } from "./volumes.ts";

function sell(clusterStorage: readonly string[]) {
  const classes = [
    rbdClass("beta3"),
    storageClass("beta1", "rancher.io/local-path"),
    storageClass("unlabelled", "rancher.io/local-path", {}, false),
    storageClass("foreign", "ebs.csi.aws.com"),
  ].map(readStorageClass);
  const byName = new Map(classes.map((each) => [each.name, each]));
  const { sold, conditions } = soldClasses(
    byName,
    { clusterStorage },
    sumVolumes([readVolume(volume("v", "gone", "1Gi"))], byName),
  );
  return { sold: sold.map(({ storageClass: { name } }) => name), told: conditions.map(({ message }) => message) };
}

test("a class is sold when it is both configured and labelled, and of a kind we can look into", () => {
  const { sold, told } = sell(["beta1", "beta3", "foreign", "gone", "ram", "unlabelled"]);
  assert.deepEqual(sold, ["beta1", "beta3"]);
  assert.deepEqual(told, [
    "the class foreign is made by ebs.csi.aws.com, which we cannot look into",
    "the class gone is configured, but not there; 1 of its volumes still hold space",
    "the class unlabelled is configured, but lacks the label akash.network=true",
  ]);
});

test("an empty list sells nothing, and the labelled classes are named", () => {
  const { sold, told } = sell([]);
  assert.deepEqual(sold, []);
  assert.equal(told.length, 3);
  assert.match(told[0] ?? "", /beta3 carries the label akash\.network, but cluster_storage/);
});
