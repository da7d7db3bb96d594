// The scenarios of `make bench` for ns-3, so that both programs are timed on the same work in one run.
//
//   scenarios --scenario=grid                        6,930 short transfers, one loss by position each
//   scenarios --scenario=bulk --flows=10 --queue=100 --seconds=3
//   scenarios --scenario=memory --flows=10000
//   scenarios --scenario=dumbbell --hosts=1000       half of them send to the other half
//   scenarios --scenario=parking-lot                 three bottlenecks in a row
//   scenarios --scenario=arrivals --flows=20000      short flows that arrive at random
//
// Prints one JSON object a line. The hosts are joined by one link with a drop-tail queue in its device
// and no queue discipline above it: the fewest events that ns-3 needs for this path. The TCP is NewReno
// with SACK and timestamps, set as near to the study as ns-3's attributes allow.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/nix-vector-routing-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

constexpr uint32_t kSegment = 1448;
constexpr uint16_t kPort = 9000;

double
WallSeconds()
{
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

// Resident memory of this process, in bytes.
uint64_t
ResidentBytes()
{
    std::ifstream statm("/proc/self/statm");
    uint64_t total = 0;
    uint64_t resident = 0;
    statm >> total >> resident;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// What one run of the simulator delivered.
struct Counters
{
    uint64_t deliveries = 0; // packets handed to a host, data and ACKs
    uint64_t dataPackets = 0;
    uint64_t bytes = 0; // read by the receiving application
    Time lastByte;
};

void
CountPacket(Counters* counters, Ptr<const Packet> packet)
{
    ++counters->deliveries;
    // PPP, IP and TCP headers take 54 bytes and the options at most 40.
    counters->dataPackets += packet->GetSize() > 100 ? 1 : 0;
}

void
ReadAll(Counters* counters, Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break;
        }
        counters->bytes += packet->GetSize();
        counters->lastByte = Simulator::Now();
    }
}

// A link with a drop-tail queue in its devices.
PointToPointHelper
LinkOf(const std::string& rate, const std::string& delay, uint32_t queuePackets)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetDeviceAttribute("Mtu", UintegerValue(1500));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  StringValue(std::to_string(queuePackets) + "p"));
    return link;
}

// Two hosts and their link.
struct Testbed
{
    NodeContainer nodes; // 0 is the server, 1 the client
    NetDeviceContainer devices;
    Ipv4InterfaceContainer addresses;
};

Testbed
MakeTestbed(const std::string& rate, const std::string& delay, uint32_t queuePackets, Counters* counters)
{
    Testbed bed;
    bed.nodes.Create(2);
    PointToPointHelper link = LinkOf(rate, delay, queuePackets);
    bed.devices = link.Install(bed.nodes);
    InternetStackHelper().Install(bed.nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    bed.addresses = addresses.Assign(bed.devices);
    TrafficControlHelper().Uninstall(bed.devices);
    for (uint32_t host = 0; host < 2; ++host)
    {
        bed.devices.Get(host)->TraceConnectWithoutContext("MacRx",
                                                          MakeBoundCallback(&CountPacket, counters));
    }
    return bed;
}

void
ConfigureTcp(uint32_t sendBuffer, uint32_t receiveBuffer)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(203)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(3)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(3));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(100)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(sendBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(receiveBuffer));
}

// The server of the study: on accept it writes 5,000 bytes, then 2,500 eight times, and closes.
void
WriteStudy(Ptr<Socket> socket, const Address&)
{
    socket->Send(Create<Packet>(5000));
    for (int i = 0; i < 8; ++i)
    {
        socket->Send(Create<Packet>(2500));
    }
    socket->Close();
}

// One transfer of 25,000 bytes; the packet of the server at `position` (1 is the SYN-ACK) is lost.
Time
RunTransfer(const std::string& rate, const std::string& delay, uint32_t position, Counters* counters)
{
    Testbed bed = MakeTestbed(rate, delay, 99, counters);
    if (position > 0)
    {
        Ptr<ReceiveListErrorModel> losses = CreateObject<ReceiveListErrorModel>();
        losses->SetList({position - 1});
        bed.devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
    }
    TypeId tcp = TypeId::LookupByName("ns3::TcpSocketFactory");
    Ptr<Socket> listener = Socket::CreateSocket(bed.nodes.Get(0), tcp);
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&WriteStudy));
    Ptr<Socket> client = Socket::CreateSocket(bed.nodes.Get(1), tcp);
    client->SetRecvCallback(MakeBoundCallback(&ReadAll, counters));
    client->Connect(InetSocketAddress(bed.addresses.GetAddress(0), kPort));
    Simulator::Stop(Seconds(200));
    Simulator::Run();
    Simulator::Destroy();
    return counters->lastByte;
}

void
Grid()
{
    const std::vector<std::string> rates{"40kbps", "80kbps", "160kbps", "320kbps", "500kbps",
                                         "1Mbps", "2Mbps", "4Mbps", "8Mbps", "10Mbps"};
    const std::vector<std::string> delays{"5ms", "10ms", "20ms", "40ms", "60ms", "80ms",
                                          "100ms", "150ms", "200ms", "250ms", "300ms"};
    ConfigureTcp(32768, 65536);
    uint64_t runs = 0;
    uint64_t deliveries = 0;
    uint64_t incomplete = 0;
    double virtualSeconds = 0;
    const double start = WallSeconds();
    for (const auto& rate : rates)
    {
        for (const auto& delay : delays)
        {
            for (uint32_t position = 0; position <= 20; ++position)
            {
                for (int replication = 0; replication < 3; ++replication)
                {
                    Counters counters;
                    virtualSeconds += RunTransfer(rate, delay, position, &counters).GetSeconds();
                    incomplete += counters.bytes == 25000 ? 0 : 1;
                    deliveries += counters.deliveries;
                    ++runs;
                }
            }
        }
    }
    const double wall = WallSeconds() - start;
    std::cout << "{\"program\": \"ns-3\", \"scenario\": \"grid\", \"runs\": " << runs
              << ", \"incomplete\": " << incomplete << ", \"deliveries\": " << deliveries
              << ", \"virtual_s\": " << virtualSeconds << ", \"wall_s\": " << wall << "}" << std::endl;
}

// `flows` senders with no end of data on one link of 1 Gbit/s and 20 ms each way.
void
StartBulk(const Testbed& bed, uint32_t flows, uint64_t bytesEach)
{
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        const uint16_t port = static_cast<uint16_t>(kPort + flow);
        BulkSendHelper sender("ns3::TcpSocketFactory",
                              InetSocketAddress(bed.addresses.GetAddress(1), port));
        sender.SetAttribute("MaxBytes", UintegerValue(bytesEach));
        sender.SetAttribute("SendSize", UintegerValue(kSegment * 4));
        sender.Install(bed.nodes.Get(0)).Start(MicroSeconds(100 * flow));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(bed.nodes.Get(1)).Start(Seconds(0));
    }
}

void
Bulk(uint32_t flows, uint32_t queuePackets, double seconds)
{
    ConfigureTcp(16 << 20, 16 << 20);
    Counters counters;
    Testbed bed = MakeTestbed("1Gbps", "20ms", queuePackets, &counters);
    StartBulk(bed, flows, 0);
    Simulator::Stop(Seconds(seconds));
    const double start = WallSeconds();
    Simulator::Run();
    const double wall = WallSeconds() - start;
    std::cout << "{\"program\": \"ns-3\", \"scenario\": \"bulk\", \"flows\": " << flows
              << ", \"queue_packets\": " << queuePackets << ", \"virtual_s\": " << seconds
              << ", \"deliveries\": " << counters.deliveries
              << ", \"data_packets\": " << counters.dataPackets << ", \"wall_s\": " << wall << "}"
              << std::endl;
    Simulator::Destroy();
}

// Flows that have sent one segment each and wait: what the connections alone take.
void
Memory(uint32_t flows)
{
    ConfigureTcp(65536, 65536);
    Counters counters;
    Testbed bed = MakeTestbed("1Gbps", "20ms", 3334, &counters);
    const uint64_t before = ResidentBytes();
    TypeId tcp = TypeId::LookupByName("ns3::TcpSocketFactory");
    Ptr<Socket> listener = Socket::CreateSocket(bed.nodes.Get(1), tcp);
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
    listener->Listen();
    uint32_t accepted = 0;
    std::vector<Ptr<Socket>> kept;
    listener->SetAcceptCallback(
        MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
        Callback<void, Ptr<Socket>, const Address&>([&](Ptr<Socket> socket, const Address&) {
            ++accepted;
            socket->SetRecvCallback(MakeBoundCallback(&ReadAll, &counters));
            kept.push_back(socket);
        }));
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        Ptr<Socket> socket = Socket::CreateSocket(bed.nodes.Get(0), tcp);
        Simulator::Schedule(MicroSeconds(100 * flow), [&bed, socket] {
            socket->Connect(InetSocketAddress(bed.addresses.GetAddress(1), kPort));
            socket->Send(Create<Packet>(kSegment));
        });
        kept.push_back(socket);
    }
    Simulator::Stop(Seconds(10));
    Simulator::Run();
    const uint64_t after = ResidentBytes();
    std::cout << "{\"program\": \"ns-3\", \"scenario\": \"memory\", \"flows\": " << flows
              << ", \"accepted\": " << accepted << ", \"bytes_a_flow\": " << (after - before) / flows
              << "}" << std::endl;
    Simulator::Destroy();
}

// Hosts on points, joined by links: routes are found by nix vectors, as ns-3 recommends for large topologies.
struct Tree
{
    NodeContainer points;
    NodeContainer hosts;
    std::vector<Ipv4Address> addresses; // by host
};

// Points in a row, each joined with the next; the host of number i hangs on the point `at[i]`.
Tree
MakeTree(uint32_t points,
         const std::vector<uint32_t>& at,
         const std::string& rate,
         const std::string& delay,
         uint32_t queuePackets,
         Counters* counters)
{
    Tree tree;
    tree.points.Create(points);
    tree.hosts.Create(at.size());
    InternetStackHelper stack;
    Ipv4NixVectorHelper routing;
    stack.SetRoutingHelper(routing);
    stack.SetIpv6StackInstall(false);
    stack.Install(tree.points);
    stack.Install(tree.hosts);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    PointToPointHelper shared = LinkOf(rate, delay, queuePackets);
    for (uint32_t point = 0; point + 1 < points; ++point)
    {
        NetDeviceContainer devices = shared.Install(tree.points.Get(point), tree.points.Get(point + 1));
        addresses.Assign(devices);
        addresses.NewNetwork();
        TrafficControlHelper().Uninstall(devices);
    }
    PointToPointHelper access = LinkOf("10Gbps", "1ms", 1000);
    for (uint32_t host = 0; host < at.size(); ++host)
    {
        NetDeviceContainer devices = access.Install(tree.hosts.Get(host), tree.points.Get(at[host]));
        tree.addresses.push_back(addresses.Assign(devices).GetAddress(0));
        addresses.NewNetwork();
        TrafficControlHelper().Uninstall(devices);
        devices.Get(0)->TraceConnectWithoutContext("MacRx", MakeBoundCallback(&CountPacket, counters));
    }
    return tree;
}

void
Sink(const Tree& tree, uint32_t host)
{
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), kPort));
    sink.Install(tree.hosts.Get(host)).Start(Seconds(0));
}

void
Send(const Tree& tree, uint32_t from, uint32_t to, uint64_t bytes, Time start)
{
    BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(tree.addresses[to], kPort));
    sender.SetAttribute("MaxBytes", UintegerValue(bytes));
    sender.SetAttribute("SendSize", UintegerValue(kSegment * 4));
    sender.Install(tree.hosts.Get(from)).Start(start);
}

void
RunTree(const std::string& name, uint32_t number, double seconds, const Counters& counters)
{
    Simulator::Stop(Seconds(seconds));
    const double start = WallSeconds();
    Simulator::Run();
    const double wall = WallSeconds() - start;
    std::cout << "{\"program\": \"ns-3\", \"scenario\": \"" << name << "\", \"number\": " << number
              << ", \"virtual_s\": " << seconds << ", \"deliveries\": " << counters.deliveries
              << ", \"resident\": " << ResidentBytes() << ", \"wall_s\": " << wall << "}" << std::endl;
    Simulator::Destroy();
}

void
Dumbbell(uint32_t hosts, double seconds)
{
    ConfigureTcp(1 << 20, 1 << 20);
    Counters counters;
    const uint32_t pairs = std::max(hosts / 2, 1u);
    std::vector<uint32_t> at(2 * pairs, 0);
    std::fill(at.begin() + pairs, at.end(), 1);
    Tree tree = MakeTree(2, at, "1Gbps", "5ms", 1000, &counters);
    for (uint32_t pair = 0; pair < pairs; ++pair)
    {
        Sink(tree, pairs + pair);
        Send(tree, pair, pairs + pair, 0, MicroSeconds(100 * pair));
    }
    RunTree("dumbbell", hosts, seconds, counters);
}

void
ParkingLot(double seconds)
{
    ConfigureTcp(1 << 20, 1 << 20);
    Counters counters;
    const std::vector<uint32_t> at{0, 3, 0, 1, 1, 2, 2, 3};
    Tree tree = MakeTree(4, at, "100Mbps", "5ms", 200, &counters);
    for (uint32_t pair = 0; pair < 4; ++pair)
    {
        Sink(tree, 2 * pair + 1);
        Send(tree, 2 * pair, 2 * pair + 1, 0, Seconds(0));
    }
    RunTree("parking-lot", 3, seconds, counters);
}

void
Arrivals(uint32_t flows)
{
    ConfigureTcp(1 << 20, 1 << 20);
    Counters counters;
    const uint32_t pairs = 50;
    std::vector<uint32_t> at(2 * pairs, 0);
    std::fill(at.begin() + pairs, at.end(), 1);
    Tree tree = MakeTree(2, at, "1Gbps", "5ms", 1000, &counters);
    for (uint32_t pair = 0; pair < pairs; ++pair)
    {
        Sink(tree, pairs + pair);
    }
    Ptr<ExponentialRandomVariable> gaps = CreateObject<ExponentialRandomVariable>();
    gaps->SetAttribute("Mean", DoubleValue(200e-6));
    Ptr<ExponentialRandomVariable> sizes = CreateObject<ExponentialRandomVariable>();
    sizes->SetAttribute("Mean", DoubleValue(10000));
    double start = 0;
    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        start += gaps->GetValue();
        const auto bytes = static_cast<uint64_t>(sizes->GetValue()) + 1;
        Send(tree, flow % pairs, pairs + flow % pairs, bytes, Seconds(start));
    }
    RunTree("arrivals", flows, start + 5, counters);
}

} // namespace

int
main(int argc, char** argv)
{
    std::string scenario = "grid";
    uint32_t flows = 1;
    uint32_t queue = 100;
    uint32_t hosts = 2;
    double seconds = 3;
    CommandLine command;
    command.AddValue("scenario", "grid, bulk, memory, dumbbell, parking-lot or arrivals", scenario);
    command.AddValue("flows", "number of flows (bulk, memory, arrivals)", flows);
    command.AddValue("hosts", "number of hosts (dumbbell)", hosts);
    command.AddValue("queue", "packets that the queue holds (bulk)", queue);
    command.AddValue("seconds", "virtual time (bulk, dumbbell, parking-lot)", seconds);
    command.Parse(argc, argv);
    if (scenario == "grid")
    {
        Grid();
    }
    else if (scenario == "bulk")
    {
        Bulk(flows, queue, seconds);
    }
    else if (scenario == "memory")
    {
        Memory(flows);
    }
    else if (scenario == "dumbbell")
    {
        Dumbbell(hosts, seconds);
    }
    else if (scenario == "parking-lot")
    {
        ParkingLot(seconds);
    }
    else if (scenario == "arrivals")
    {
        Arrivals(flows);
    }
    else
    {
        std::cerr << "unknown scenario " << scenario
                  << ": grid, bulk, memory, dumbbell, parking-lot or arrivals" << std::endl;
        return 2;
    }
    return 0;
}
