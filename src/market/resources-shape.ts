/** The form of what a unit of a group or a service of a manifest takes, as JSON. */
import { amount, list, omits, pointer, record, type Shape, text, uint32 } from "./go-shape.ts";

const value = record("v1beta4.ResourceValue", { val: amount });
const attribute = record("v1.Attribute", { key: omits(text), value: omits(text) });
export const attributeList = list(attribute, "v1.Attributes");
const attributes = omits(attributeList);
const kind: Shape = { kind: "whole", go: "v1beta4.Endpoint_Kind", least: -(2 ** 31), most: 2 ** 31 - 1 };
export const resourcesShape = record("v1beta4.Resources", {
  id: uint32,
  cpu: pointer(omits(record("v1beta4.CPU", { units: value, attributes }))),
  memory: pointer(omits(record("v1beta4.Memory", { size: value, attributes }))),
  storage: omits(list(record("v1beta4.Storage", { name: text, size: value, attributes }), "v1beta4.Volumes")),
  gpu: pointer(omits(record("v1beta4.GPU", { units: value, attributes }))),
  endpoints: list(record("v1beta4.Endpoint", { kind: omits(kind), sequence_number: uint32 }), "v1beta4.Endpoints"),
});
