/** akash.provider.v1 as the network has it. */
import { emptyFile, type ProtoFile } from "../../runtime/grpc/proto-file.ts";

export const providerFile: ProtoFile = {
  name: "akash/provider/v1/service.proto",
  package: "akash.provider.v1",
  imports: [emptyFile],
  messages: {
    Leases: ["uint32 active = 1"],
    ClusterStatus: ["Leases leases = 1"],
    BidEngineStatus: ["uint32 orders = 1"],
    ManifestStatus: ["uint32 deployments = 1"],
    Status: [
      "repeated string errors = 1",
      "ClusterStatus cluster = 2",
      "BidEngineStatus bid_engine = 3",
      "ManifestStatus manifest = 4",
      "repeated string public_hostnames = 5",
    ],
  },
  services: { ProviderRPC: ["GetStatus(google.protobuf.Empty) returns (Status)"] },
};
