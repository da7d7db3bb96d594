// Runs scenarios in ns-3 and writes what passed at three places, with ns-3's own reason for each packet.
//
// Reads a scenario a line from standard input, as foreign/src/ns3.rs writes them: words with a value each. Draws
// nothing itself but the losses, from ns-3's streams of the scenario's seed. Writes a line with ns-3's release, and
// for each scenario
//
//   ran PACKETS B\n        how many packets the hosts sent; 1 if ns-3 broke off (see NothingToSend), else 0
//   PACKETS letters        why each was sent, in order (see Reason)
//
// and for each place (the sender of the data, the middle, the receiver)
//
//   passed RECORDS BYTES\n
//   RECORDS numbers        which of these packets each record is, four bytes each, the lowest first
//   BYTES                  a capture: pcap in nanoseconds, raw IP
//
// The path: sender - router (the bottleneck with its queue) - middle - receiver, each a link of ns-3's own.

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/version-defines.h"

using namespace ns3;

namespace
{

constexpr uint16_t kPort = 5001;
// A run ends here, whatever is left, and with so many packets, and so long after all was read: ns-3 sends a FIN that
// nobody answers again each second, for ever.
const Time kLimit = Seconds(600);
const Time kAfter = Seconds(20);
constexpr size_t kPackets = 60'000;

// Why a packet leaves, as ns-3's code has it at that moment.
enum class Reason : char
{
    kNew = '-',      // nothing is sent again
    kTimeout = 'T',  // in CA_LOSS, the first one after ReTxTimeout
    kLoss = 'L',     // in CA_LOSS, another
    kFast = 'F',     // as CA_RECOVERY is entered
    kRecovery = 'R', // in CA_RECOVERY, with SACK
    kPartial = 'A',  // in CA_RECOVERY, without
    kLost = 'D',     // in any other state, as SACK blocks above it make it count as lost
    kOpen = 'O',     // in any other state, without
    kProbe = 'P',    // PersistTimeout
    kControl = 'C',  // a SYN or FIN without data, which nothing but a timer or the peer's sends again
};

// One line of input.
class Scenario
{
  public:
    explicit Scenario(const std::string& line)
    {
        std::istringstream words(line);
        std::string name;
        uint64_t value = 0;
        while (words >> name >> value)
        {
            m_values[name] = value;
        }
    }

    uint64_t Get(const std::string& name) const
    {
        const auto found = m_values.find(name);
        if (found == m_values.end())
        {
            std::cerr << "sender: a scenario without " << name << std::endl;
            std::exit(2);
        }
        return found->second;
    }

  private:
    std::map<std::string, uint64_t> m_values;
};

// The number of a packet among all that hosts sent.
class NumberTag : public Tag
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("rexmit::NumberTag").SetParent<Tag>().AddConstructor<NumberTag>();
        return id;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return 4;
    }

    void Serialize(TagBuffer buffer) const override
    {
        buffer.WriteU32(number);
    }

    void Deserialize(TagBuffer buffer) override
    {
        number = buffer.ReadU32();
    }

    void Print(std::ostream& out) const override
    {
        out << number;
    }

    uint32_t number = 0;
};

// What passes at one place.
class Capture
{
  public:
    explicit Capture(uint64_t epoch)
        : m_epoch(epoch)
    {
        for (const uint32_t word : {0xa1b23c4dU, 0x00040002U, 0U, 0U, 65'535U, 101U})
        {
            Word(m_bytes, word);
        }
    }

    void Take(Ptr<const Packet> packet)
    {
        NumberTag tag;
        if (!packet->PeekPacketTag(tag))
        {
            return;
        }
        Word(m_numbers, tag.number);
        const uint64_t now = static_cast<uint64_t>(Simulator::Now().GetNanoSeconds());
        const uint32_t length = packet->GetSize();
        for (const uint64_t word :
             {m_epoch + now / 1'000'000'000, now % 1'000'000'000, uint64_t{length}, uint64_t{length}})
        {
            Word(m_bytes, static_cast<uint32_t>(word));
        }
        const size_t at = m_bytes.size();
        m_bytes.resize(at + length);
        packet->CopyData(reinterpret_cast<uint8_t*>(m_bytes.data() + at), length);
    }

    void Write() const
    {
        std::cout << "passed " << m_numbers.size() / 4 << ' ' << m_bytes.size() << '\n';
        std::cout.write(m_numbers.data(), static_cast<std::streamsize>(m_numbers.size()));
        std::cout.write(m_bytes.data(), static_cast<std::streamsize>(m_bytes.size()));
    }

  private:
    static void Word(std::vector<char>& into, uint32_t word)
    {
        for (int byte = 0; byte < 4; ++byte)
        {
            into.push_back(static_cast<char>(word >> (8 * byte)));
        }
    }

    uint64_t m_epoch;
    std::vector<char> m_numbers;
    std::vector<char> m_bytes;
};

// The log: why each packet was sent, and what is being sent now.
struct Log
{
    std::string reasons;
    Reason now = Reason::kNew;
};

Log* g_log = nullptr;

// ns-3 is about to send what it does not have: without its assertions it crashes. The run ends there.
struct NothingToSend
{
};

// ns-3's socket, which notes in which of its functions and states it is when it sends. It changes nothing.
class LoggedSocket : public TcpSocketBase
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id =
            TypeId("rexmit::LoggedSocket").SetParent<TcpSocketBase>().AddConstructor<LoggedSocket>();
        return id;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

  protected:
    Ptr<TcpSocketBase> Fork() override
    {
        return CopyObject<LoggedSocket>(this);
    }

    void ReceivedAck(Ptr<Packet> packet, const TcpHeader& header) override
    {
        m_wasRecovering = m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
        TcpSocketBase::ReceivedAck(packet, header);
    }

    void ReTxTimeout() override
    {
        // What it sends may wait for Nagle's algorithm or the window.
        m_expired = true;
        TcpSocketBase::ReTxTimeout();
    }

    void PersistTimeout() override
    {
        g_log->now = Reason::kProbe;
        TcpSocketBase::PersistTimeout();
        g_log->now = Reason::kNew;
    }

    void SendEmptyPacket(uint8_t flags) override
    {
        const bool control = (flags & (TcpHeader::SYN | TcpHeader::FIN)) != 0;
        g_log->now = control ? Reason::kControl : Reason::kNew;
        TcpSocketBase::SendEmptyPacket(flags);
        g_log->now = Reason::kNew;
    }

    uint32_t SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck) override
    {
        if (seq < m_txBuffer->HeadSequence() || maxSize == 0 || m_txBuffer->SizeFromSequence(seq) == 0)
        {
            throw NothingToSend();
        }
        g_log->now = seq < m_tcb->m_highTxMark ? WhyAgain(seq) : Reason::kNew;
        const uint32_t sent = TcpSocketBase::SendDataPacket(seq, maxSize, withAck);
        g_log->now = Reason::kNew;
        return sent;
    }

  private:
    Reason WhyAgain(SequenceNumber32 seq)
    {
        const bool expired = std::exchange(m_expired, false);
        if (m_tcb->m_congState == TcpSocketState::CA_LOSS)
        {
            return expired ? Reason::kTimeout : Reason::kLoss;
        }
        if (m_tcb->m_congState != TcpSocketState::CA_RECOVERY)
        {
            const bool lost = m_sackEnabled && m_txBuffer->IsLost(seq);
            m_reported = lost ? m_txBuffer->HeadSequence() : m_reported;
            return lost ? Reason::kLost : Reason::kOpen;
        }
        if (!m_wasRecovering)
        {
            m_wasRecovering = true;
            // ns-3 may enter the recovery after it has sent the first segment of it.
            return m_reported == m_txBuffer->HeadSequence() ? Reason::kLost : Reason::kFast;
        }
        return m_sackEnabled ? Reason::kRecovery : Reason::kPartial;
    }

    // What was not acknowledged when a segment was sent again for kLost.
    SequenceNumber32 m_reported{0};
    bool m_expired = false;
    bool m_wasRecovering = false;
};

// A packet of a host gets its number, and is logged.
void
Number(const Ipv4Header&, Ptr<const Packet> packet, uint32_t)
{
    NumberTag tag;
    tag.number = static_cast<uint32_t>(g_log->reasons.size());
    packet->AddPacketTag(tag);
    g_log->reasons.push_back(static_cast<char>(g_log->now));
    if (g_log->reasons.size() >= kPackets)
    {
        Simulator::Stop();
    }
}

void
Pass(Capture* capture, Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t)
{
    capture->Take(packet);
}

// Writes so many bytes, a piece at a time, and closes.
class Writer : public SimpleRefCount<Writer>
{
  public:
    Writer(Ptr<Socket> socket, const Scenario& scenario)
        : m_socket(socket),
          m_left(scenario.Get("bytes")),
          m_piece(scenario.Get("piece")),
          m_pause(NanoSeconds(scenario.Get("write-pause")))
    {
        socket->SetSendCallback(MakeCallback(&Writer::Room, this));
        Simulator::ScheduleNow(&Writer::Write, this);
    }

  private:
    void Room(Ptr<Socket>, uint32_t)
    {
        if (!m_next.IsRunning())
        {
            Write();
        }
    }

    void Write()
    {
        while (m_left > 0)
        {
            const uint64_t room = m_socket->GetTxAvailable();
            const uint64_t length = std::min({m_piece, m_left, room});
            if (length == 0)
            {
                return;
            }
            m_left -= length;
            if (m_socket->Send(Create<Packet>(static_cast<uint32_t>(length))) < 0)
            {
                return;
            }
            if (!m_pause.IsZero() && m_left > 0)
            {
                m_next = Simulator::Schedule(m_pause, &Writer::Write, this);
                return;
            }
        }
        if (!m_closed)
        {
            m_closed = true;
            m_socket->Close();
        }
    }

    Ptr<Socket> m_socket;
    uint64_t m_left;
    uint64_t m_piece;
    Time m_pause;
    EventId m_next;
    bool m_closed = false;
};

// Reads a piece at a time until the other side has closed.
class Reader : public SimpleRefCount<Reader>
{
  public:
    Reader(Ptr<Socket> socket, const Scenario& scenario, uint64_t* left)
        : m_socket(socket),
          m_left(left),
          m_piece(scenario.Get("read")),
          m_pause(NanoSeconds(scenario.Get("read-pause")))
    {
        socket->SetRecvCallback(MakeCallback(&Reader::Come, this));
        socket->SetCloseCallbacks(MakeCallback(&Reader::Ended, this), MakeNullCallback<void, Ptr<Socket>>());
    }

  private:
    void Come(Ptr<Socket>)
    {
        if (!m_next.IsRunning())
        {
            Read();
        }
    }

    void Read()
    {
        while (m_socket->GetRxAvailable() > 0)
        {
            const Ptr<Packet> packet = m_socket->Recv(static_cast<uint32_t>(m_piece), 0);
            if (!packet || packet->GetSize() == 0)
            {
                return;
            }
            *m_left -= packet->GetSize();
            if (*m_left == 0)
            {
                Simulator::Stop(kAfter);
            }
            if (!m_pause.IsZero())
            {
                m_next = Simulator::Schedule(m_pause, &Reader::Read, this);
                return;
            }
        }
        if (m_ended)
        {
            m_ended = false;
            m_socket->Close();
        }
    }

    void Ended(Ptr<Socket> socket)
    {
        m_ended = true;
        Come(socket);
    }

    Ptr<Socket> m_socket;
    // What readers have not read yet, of all flows.
    uint64_t* m_left;
    uint64_t m_piece;
    Time m_pause;
    EventId m_next;
    bool m_ended = false;
};

// A scenario as it is run.
class World
{
  public:
    explicit World(const Scenario& scenario)
        : m_scenario(scenario),
          m_captures(3, Capture(scenario.Get("epoch"))),
          m_left(scenario.Get("flows") * scenario.Get("bytes"))
    {
        g_log = &m_log;
        Configure();
        MakePath();
        Tap();
        for (uint64_t flow = 0; flow < scenario.Get("flows"); ++flow)
        {
            Simulator::Schedule(NanoSeconds(flow * scenario.Get("stagger")), &World::Open, this, flow);
        }
    }

    void Run()
    {
        Simulator::Stop(kLimit);
        int brokenOff = 0;
        try
        {
            Simulator::Run();
        }
        catch (const NothingToSend&)
        {
            brokenOff = 1;
        }
        std::cout << "ran " << m_log.reasons.size() << ' ' << brokenOff << '\n' << m_log.reasons;
        for (const Capture& capture : m_captures)
        {
            capture.Write();
        }
        std::cout.flush();
        m_writers.clear();
        m_readers.clear();
        Simulator::Destroy();
    }

  private:
    bool Is(const std::string& name) const
    {
        return m_scenario.Get(name) != 0;
    }

    void Configure() const
    {
        const auto set = [](const std::string& name, const AttributeValue& value) {
            Config::SetDefault("ns3::" + name, value);
        };
        const auto number = [this](const std::string& name) { return UintegerValue(m_scenario.Get(name)); };
        set("TcpSocket::SegmentSize", number("segment"));
        set("TcpSocket::SndBufSize", number("send-buffer"));
        set("TcpSocket::RcvBufSize", number("receive-buffer"));
        set("TcpSocket::DelAckCount", UintegerValue(Is("ack-delay") ? 2 : 1));
        set("TcpSocket::DelAckTimeout", TimeValue(NanoSeconds(std::max<uint64_t>(m_scenario.Get("ack-delay"), 1))));
        set("TcpSocket::TcpNoDelay", BooleanValue(!Is("nagle")));
        set("TcpSocketBase::Sack", BooleanValue(Is("sack")));
        set("TcpSocketBase::Timestamp", BooleanValue(Is("timestamps")));
        set("TcpSocketBase::LimitedTransmit", BooleanValue(Is("limited-transmit")));
        set("TcpSocketBase::MinRto", TimeValue(NanoSeconds(m_scenario.Get("min-rto"))));
    }

    void MakePath()
    {
        m_nodes.Create(4);
        InternetStackHelper().Install(m_nodes);
        const DataRate fast("10Gbps");
        const Time near = NanoSeconds(m_scenario.Get("near"));
        const Time far = NanoSeconds(m_scenario.Get("far"));
        const DataRate slow(m_scenario.Get("rate"));
        Link(0, fast, NanoSeconds(1'000), "data-loss-0", "ack-loss-1");
        Link(1, slow, near, "", "");
        Link(2, fast, far, "data-loss-1", "ack-loss-0");
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    // The link from this node to the next, with losses in parts of a trillion towards the receiver and back.
    void Link(uint32_t from, DataRate rate, Time delay, const std::string& there, const std::string& back)
    {
        PointToPointHelper link;
        link.DisableFlowControl();
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate("10Gbps")));
        link.SetChannelAttribute("Delay", TimeValue(delay));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
        NetDeviceContainer devices = link.Install(m_nodes.Get(from), m_nodes.Get(from + 1));
        for (uint32_t end = 0; end < 2; ++end)
        {
            devices.Get(end)->SetMtu(static_cast<uint16_t>(m_scenario.Get("mtu")));
        }
        const Ptr<PointToPointNetDevice> out = DynamicCast<PointToPointNetDevice>(devices.Get(0));
        out->SetDataRate(rate);
        if (from == 1)
        {
            out->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, m_scenario.Get("queue")));
        }
        Lose(devices.Get(1), there, 2 * from);
        Lose(devices.Get(0), back, 2 * from + 1);
        const std::string network = "10.0." + std::to_string(from) + ".0";
        Ipv4AddressHelper addresses(network.c_str(), "255.255.255.0");
        const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        if (from == 0)
        {
            m_addresses[0] = interfaces.GetAddress(0);
        }
        m_addresses[1] = interfaces.GetAddress(1);
    }

    void Lose(Ptr<NetDevice> device, const std::string& name, int64_t stream) const
    {
        if (name.empty() || !Is(name))
        {
            return;
        }
        const Ptr<RateErrorModel> model = CreateObject<RateErrorModel>();
        model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        model->SetRate(static_cast<double>(m_scenario.Get(name)) * 1e-12);
        model->AssignStreams(stream);
        DynamicCast<PointToPointNetDevice>(device)->SetReceiveErrorModel(model);
    }

    void Tap()
    {
        const auto trace = [this](uint32_t node, const std::string& name, const CallbackBase& callback) {
            m_nodes.Get(node)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(name, callback);
        };
        for (const uint32_t host : {0U, 3U})
        {
            Capture* capture = &m_captures[host == 0 ? 0 : 2];
            trace(host, "SendOutgoing", MakeCallback(&Number));
            trace(host, "Tx", MakeBoundCallback(&Pass, capture));
            trace(host, "Rx", MakeBoundCallback(&Pass, capture));
        }
        trace(2, "Rx", MakeBoundCallback(&Pass, &m_captures[1]));
    }

    Ptr<TcpSocketBase> MakeSocket(uint32_t node) const
    {
        const Ptr<TcpL4Protocol> tcp = m_nodes.Get(node)->GetObject<TcpL4Protocol>();
        const Ptr<LoggedSocket> socket = CreateObject<LoggedSocket>();
        socket->SetNode(m_nodes.Get(node));
        socket->SetTcp(tcp);
        socket->SetRtt(CreateObject<RttMeanDeviation>());
        const char* control[] = {"ns3::TcpNewReno", "ns3::TcpLinuxReno", "ns3::TcpCubic"};
        socket->SetCongestionControlAlgorithm(
            ObjectFactory(control[m_scenario.Get("control")]).Create<TcpCongestionOps>());
        const char* recovery[] = {"ns3::TcpClassicRecovery", "ns3::TcpPrrRecovery"};
        socket->SetRecoveryAlgorithm(ObjectFactory(recovery[m_scenario.Get("prr")]).Create<TcpRecoveryOps>());
        tcp->AddSocket(socket);
        return socket;
    }

    void Open(uint64_t flow)
    {
        const uint32_t active = Is("sender-opens") ? 0 : 3;
        const uint32_t passive = 3 - active;
        const uint16_t port = static_cast<uint16_t>(kPort + flow);
        const Ptr<TcpSocketBase> listening = MakeSocket(passive);
        listening->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        listening->Listen();
        listening->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                     MakeCallback(&World::Accepted, this));
        const Ptr<TcpSocketBase> opening = MakeSocket(active);
        opening->Bind();
        opening->SetConnectCallback(MakeCallback(&World::Connected, this),
                                    MakeNullCallback<void, Ptr<Socket>>());
        opening->Connect(InetSocketAddress(m_addresses[passive == 0 ? 0 : 1], port));
    }

    void Accepted(Ptr<Socket> socket, const Address&)
    {
        Begin(socket, !Is("sender-opens"));
    }

    void Connected(Ptr<Socket> socket)
    {
        Begin(socket, Is("sender-opens"));
    }

    void Begin(Ptr<Socket> socket, bool writes)
    {
        if (writes)
        {
            m_writers.push_back(Create<Writer>(socket, m_scenario));
        }
        else
        {
            m_readers.push_back(Create<Reader>(socket, m_scenario, &m_left));
        }
    }

    const Scenario& m_scenario;
    Log m_log;
    std::vector<Capture> m_captures;
    uint64_t m_left;
    NodeContainer m_nodes;
    Ipv4Address m_addresses[2];
    std::vector<Ptr<Writer>> m_writers;
    std::vector<Ptr<Reader>> m_readers;
};

} // namespace

int
main()
{
    std::ios::sync_with_stdio(false);
    GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
    std::cout << "ns-3 " << NS3_VERSION_MAJOR << '.' << NS3_VERSION_MINOR << std::endl;
    std::string line;
    while (std::getline(std::cin, line))
    {
        const Scenario scenario(line);
        RngSeedManager::SetRun(scenario.Get("seed") + 1);
        World(scenario).Run();
    }
    return 0;
}
