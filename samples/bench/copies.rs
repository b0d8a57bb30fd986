//! A recording many times over, so that a short one stands for a long one, or few connections for many.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Bytes of an Ethernet header, and where the addresses stand in the IPv4 header behind it.
const LINK: usize = 14;
const ADDRESSES: usize = LINK + 12;

/// Packets of a recording with IPv4 in Ethernet frames, as tcpdump makes them of the loopback interface.
pub struct Recording {
    header: Vec<u8>,
    packets: Vec<Packet>,
    /// From the first packet to behind the last, whole seconds.
    seconds: u32,
}

struct Packet {
    seconds: u32,
    micros: u32,
    wire: u32,
    data: Box<[u8]>,
    /// Where the address of the client stands.
    client: usize,
}

impl Recording {
    /// Reads the first packets, `most` at most, of connections to a server's port.
    pub fn read(pcap: &Path, port: u16, most: usize) -> Result<Self> {
        let mut capture = pcap::Capture::from_file(pcap).context("open the pcap")?;
        if capture.get_datalink() != pcap::Linktype::ETHERNET {
            bail!("{}: not Ethernet", pcap.display());
        }
        let mut header = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        header.extend(262_144u32.to_le_bytes());
        header.extend(1u32.to_le_bytes());
        let mut packets = Vec::new();
        while packets.len() < most
            && let Ok(packet) = capture.next_packet()
        {
            let words = LINK + usize::from(packet.data[LINK] & 0xf) * 4;
            let to = u16::from_be_bytes([packet.data[words + 2], packet.data[words + 3]]);
            packets.push(Packet {
                seconds: u32::try_from(packet.header.ts.tv_sec)?,
                micros: u32::try_from(packet.header.ts.tv_usec)?,
                wire: packet.header.len,
                data: packet.data.into(),
                client: if to == port { ADDRESSES } else { ADDRESSES + 4 },
            });
        }
        let (Some(first), Some(last)) = (packets.first(), packets.last()) else { bail!("no packets") };
        let seconds = last.seconds - first.seconds + 1;
        Ok(Recording { header, packets, seconds })
    }

    /// Bytes of one copy.
    pub fn bytes(&self) -> u64 {
        self.packets.iter().map(|packet| packet.data.len() as u64 + 16).sum()
    }

    /// Writes copies one behind the other, each with clients of its own.
    pub fn in_turn(&self, copies: u32, to: &mut impl Write) -> Result<()> {
        to.write_all(&self.header)?;
        for copy in 0..copies {
            self.packets.iter().try_for_each(|packet| packet.write(copy, self.seconds * copy, to))?;
        }
        Ok(())
    }

    /// Writes copies side by side: all their connections are open together.
    pub fn side_by_side(&self, copies: u32, to: &mut impl Write) -> Result<()> {
        to.write_all(&self.header)?;
        self.packets.iter().try_for_each(|packet| (0..copies).try_for_each(|copy| packet.write(copy, 0, to)))
    }
}

impl Packet {
    fn write(&self, copy: u32, later: u32, to: &mut impl Write) -> Result<()> {
        for word in [self.seconds + later, self.micros, self.data.len() as u32, self.wire] {
            to.write_all(&word.to_le_bytes())?;
        }
        let (before, rest) = self.data.split_at(self.client);
        to.write_all(before)?;
        to.write_all(&(0x0a00_0001 + copy).to_be_bytes())?;
        to.write_all(&rest[4..])?;
        Ok(())
    }
}
