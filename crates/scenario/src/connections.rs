//! The connections of a scenario, the same for every backend.

use std::net::SocketAddr;

use rexmit_network::{ConnectionId, HostId, Id};
use rexmit_traffic::{App, Flow, Flows, Transfer};

use crate::scenario::{OWN_PORTS, Resolved};
use crate::{SpecError, Streams};

/// Ports of the opening sides; they number the connections.
pub const FIRST_PORT: u16 = 10_000;
/// Ports of the waiting sides, one per transfer.
pub const SERVICE_PORT: u16 = 5_001;
/// This many transfers have a port of their own.
pub(crate) const SERVICE_PORTS: usize = (FIRST_PORT - SERVICE_PORT) as usize;

/// The connection whose packets have these two ports, in whatever order: the greater one numbers it. `None` where it
/// cannot belong to any scenario.
#[inline]
pub fn connection_of_ports(one: u16, other: u16) -> Option<ConnectionId> {
    one.max(other).checked_sub(FIRST_PORT).map(|number| ConnectionId::new(number.into()))
}

/// One connection with its two ends.
#[derive(Clone, Debug)]
pub struct ConnectionPlan {
    /// Its number.
    pub id: ConnectionId,
    /// The transfer that it belongs to, from 0.
    pub transfer: usize,
    /// The host that connects.
    pub opener: HostId,
    /// The host that sends the data; with requests, the one that answers.
    pub sender: HostId,
    /// The two ends, in the order in which timers of one instant are handled: the host with the higher number first.
    pub ends: [PlannedEnd; 2],
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct PlannedEnd {
    /// Where it is.
    pub host: HostId,
    /// Its address there.
    pub socket: SocketAddr,
    /// What writes and reads there.
    pub app: App,
}

impl ConnectionPlan {
    /// The end at `host`.
    ///
    /// # Panics
    /// Where the connection has none there.
    pub fn end(&self, host: HostId) -> &PlannedEnd {
        let [first, second] = &self.ends;
        if first.host == host {
            return first;
        }
        assert_eq!(second.host, host, "connection {} has no end there", self.id.number());
        second
    }

    /// The host at the other end.
    ///
    /// # Panics
    /// Where the connection has no end at `host`.
    pub fn peer(&self, host: HostId) -> HostId {
        let [first, second] = &self.ends;
        if self.end(host).host == first.host { second.host } else { first.host }
    }
}

impl Resolved {
    /// How many connections there are at least: flows that arrive for a time are known only once a run has drawn them.
    pub fn least_connections(&self) -> usize {
        let of = |transfer: &Transfer| {
            transfer.connections() as usize + transfer.flows().and_then(Flows::count).unwrap_or(0) as usize
        };
        self.transfers.iter().map(of).sum()
    }

    /// Every connection of a run with these streams, in order.
    ///
    /// # Errors
    /// More of them than fit into a run.
    pub fn connections(
        &self,
        streams: &Streams,
    ) -> Result<impl Iterator<Item = ConnectionPlan> + use<'_>, SpecError> {
        let drawn = self.draw_flows(streams)?;
        let copies = self.transfers.iter().enumerate().zip(drawn).flat_map(|((n, transfer), flows)| {
            let copies = if flows.is_empty() { transfer.connections() } else { flows.len() as u32 };
            (0..copies).map(move |copy| (n, transfer, copy, flows.get(copy as usize).copied()))
        });
        Ok(copies.enumerate().map(|(number, (n, transfer, copy, flow))| {
            let (from, to) =
                flow.map_or_else(|| transfer.applications(copy), |flow| transfer.applications_of(flow));
            let (opener, sender, receiver) = (transfer.opener(copy), transfer.from(copy), transfer.to(copy));
            let end = |host, app| {
                // What does not fit into one run of two hosts begins with the first port again.
                let own = FIRST_PORT + (number % OWN_PORTS) as u16;
                let port = if host == opener { own } else { SERVICE_PORT + n as u16 };
                PlannedEnd { host, socket: SocketAddr::new(self.address(host), port), app }
            };
            let ends = if sender > receiver {
                [end(sender, from), end(receiver, to)]
            } else {
                [end(receiver, to), end(sender, from)]
            };
            ConnectionPlan { id: ConnectionId::from_index(number), transfer: n, opener, sender, ends }
        }))
    }

    /// Refuses a connection that has no ports of its own: a real kernel would take its packets for another's.
    ///
    /// # Errors
    /// The connection, and how many there can be.
    pub fn check_port(&self, plan: &ConnectionPlan) -> Result<(), SpecError> {
        if plan.id.index() >= OWN_PORTS || plan.transfer >= SERVICE_PORTS {
            let text = format!(
                "connection {} of transfer {}: a real kernel has ports for {OWN_PORTS} connections of {SERVICE_PORTS} \
                 transfers; give fewer, or take backend model",
                plan.id.index(),
                plan.transfer
            );
            return Err(SpecError::new("transfers", text));
        }
        Ok(())
    }

    /// By transfer, the flows that arrive at random in a run with these streams.
    fn draw_flows(&self, streams: &Streams) -> Result<Vec<Vec<Flow>>, SpecError> {
        let mut all = self.transfers.iter().map(|transfer| transfer.connections() as usize).sum();
        let mut drawn = Vec::with_capacity(self.transfers.len());
        for (n, transfer) in self.transfers.iter().enumerate() {
            let flows =
                transfer.flows().map(|flows| flows.draw(&mut streams.get(&format!("transfers.{n}.flows"))));
            let flows = flows
                .transpose()
                .map_err(|e| SpecError::new(format!("transfers.{n}.flows"), e.to_string()))?;
            let flows = flows.unwrap_or_default();
            all += flows.len();
            drawn.push(flows);
        }
        self.check_count(all)?;
        Ok(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rexmit_network::two_hosts::{CLIENT, SERVER};
    use serde_json::json;

    fn plans() -> Vec<ConnectionPlan> {
        let scenario = json!({
            "hosts": { "server": { "stack": "rfc" }, "client": { "stack": "rfc" } },
            "transfers": [
                { "from": "server", "to": "client", "bulk": "1 kB", "connections": 3 },
                { "from": "client", "to": "server", "bulk": "1 kB", "opened_by": "client" },
            ],
        });
        Resolved::from_value(scenario).unwrap().connections(&Streams::new(1, "")).unwrap().collect()
    }

    #[test]
    fn the_ports_of_both_ends_name_the_connection() {
        let plans = plans();
        assert_eq!(plans.iter().map(|plan| plan.id.number()).collect::<Vec<_>>(), [0, 1, 2, 3]);
        for plan in &plans {
            let [one, other] = plan.ends.each_ref().map(|end| end.socket.port());
            assert_eq!(connection_of_ports(one, other), Some(plan.id));
            assert_eq!(connection_of_ports(other, one), Some(plan.id));
        }
        assert_eq!(connection_of_ports(SERVICE_PORT, FIRST_PORT - 1), None);
    }

    #[test]
    fn ends_are_the_client_s_and_the_server_s_and_the_sender_s_application_writes() {
        for (plan, sender) in plans().iter().zip([SERVER, SERVER, SERVER, CLIENT]) {
            assert_eq!(plan.ends.each_ref().map(|end| end.host), [CLIENT, SERVER]);
            assert_eq!((plan.peer(CLIENT), plan.peer(SERVER)), (SERVER, CLIENT));
            assert_eq!((plan.opener, plan.sender), (CLIENT, sender));
            assert!(plan.end(sender).app.sends() && plan.end(plan.peer(sender)).app.receives());
        }
    }

    #[test]
    fn a_real_kernel_refuses_what_has_no_port_of_its_own() {
        let scenario = |transfers: usize, connections: usize| {
            let transfer =
                json!({ "from": "server", "to": "client", "bulk": "1 kB", "connections": connections });
            Resolved::from_value(json!({
                "hosts": { "server": { "stack": "rfc" }, "client": { "stack": "rfc" } },
                "transfers": vec![transfer; transfers],
            }))
            .unwrap()
        };
        assert!(scenario(SERVICE_PORTS, 1).unsupported_by_kernel().is_empty());
        let many = scenario(SERVICE_PORTS + 1, 1);
        assert_eq!(many.unsupported_by_kernel(), ["transfers (5000, of which 4999 have a port)"]);
        let last = many.connections(&Streams::new(1, "")).unwrap().last().unwrap();
        let told = many.check_port(&last).unwrap_err().to_string();
        assert!(
            told.starts_with("transfers: connection 4999 of transfer 4999: a real kernel has ports"),
            "{told}"
        );
        assert!(scenario(1, OWN_PORTS).unsupported_by_kernel().is_empty());
        assert_eq!(scenario(1, OWN_PORTS + 1).unsupported_by_kernel().len(), 1);
    }

    #[test]
    #[should_panic(expected = "connection 0 has no end there")]
    fn a_host_without_an_end_is_not_taken_for_another() {
        plans()[0].end(HostId::new(2));
    }
}
