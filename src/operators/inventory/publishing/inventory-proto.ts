/** akash.inventory.v1 as the network has it, for clients that ask us what we serve. */
import { emptyFile, type ProtoFile } from "../../../runtime/grpc/proto-file.ts";

const quantity: ProtoFile = {
  name: "k8s.io/apimachinery/pkg/api/resource/generated.proto",
  package: "k8s.io.apimachinery.pkg.api.resource",
  messages: { Quantity: ["string string = 1"] },
};

const attribute: ProtoFile = {
  name: "akash/base/attributes/v1/attribute.proto",
  package: "akash.base.attributes.v1",
  messages: { Attribute: ["string key = 1", "string value = 2"] },
};

export const inventoryFile: ProtoFile = {
  name: "akash/inventory/v1/service.proto",
  package: "akash.inventory.v1",
  imports: [emptyFile, quantity, attribute],
  messages: {
    ResourcePair: [
      "k8s.io.apimachinery.pkg.api.resource.Quantity allocatable = 1",
      "k8s.io.apimachinery.pkg.api.resource.Quantity allocated = 2",
      "repeated akash.base.attributes.v1.Attribute attributes = 3",
      "k8s.io.apimachinery.pkg.api.resource.Quantity capacity = 4",
    ],
    CPUInfo: ["string id = 1", "string vendor = 2", "string model = 3", "uint32 vcores = 4"],
    CPU: ["ResourcePair quantity = 1", "repeated CPUInfo info = 2"],
    GPUInfo: [
      "string vendor = 1",
      "string vendor_id = 2",
      "string name = 3",
      "string modelid = 4",
      "string interface = 5",
      "string memory_size = 6",
    ],
    GPU: ["ResourcePair quantity = 1", "repeated GPUInfo info = 2"],
    MemoryInfo: ["string vendor = 1", "string type = 2", "string total_size = 3", "string speed = 4"],
    Memory: ["ResourcePair quantity = 1", "repeated MemoryInfo info = 2"],
    NodeResources: [
      "CPU cpu = 1",
      "Memory memory = 2",
      "GPU gpu = 3",
      "ResourcePair ephemeral_storage = 4",
      "ResourcePair volumes_attached = 5",
      "ResourcePair volumes_mounted = 6",
    ],
    NodeCapabilities: ["repeated string storage_classes = 1"],
    Node: ["string name = 1", "NodeResources resources = 2", "NodeCapabilities capabilities = 3"],
    StorageInfo: ["string class = 1", "string iops = 2"],
    Storage: ["ResourcePair quantity = 1", "StorageInfo info = 2"],
    Cluster: ["repeated Node nodes = 1", "repeated Storage storage = 2"],
  },
  services: {
    NodeRPC: [
      "QueryNode(google.protobuf.Empty) returns (Node)",
      "StreamNode(google.protobuf.Empty) returns (stream Node)",
    ],
    ClusterRPC: [
      "QueryCluster(google.protobuf.Empty) returns (Cluster)",
      "StreamCluster(google.protobuf.Empty) returns (stream Cluster)",
    ],
  },
};
