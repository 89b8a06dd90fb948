//! Tests of the operators of ETL by small tables: ranges, last values, the text of a message and the head of a packet.

use super::*;

fn observation(kind: Kind, value: Option<f64>) -> Observation {
    let sensor = SensorId::new("s1").unwrap();
    Observation { message: 0, sensor, position: [1.0, 2.0], kind, value }
}

/// Values at the ends of a range are valid, and those beyond are removed.
#[test]
fn values_out_of_range_are_removed() {
    for kind in Kind::ALL {
        let (least, most) = kind.range();
        for (value, is_valid) in [(least, true), (most, true), (least - 0.01, false), (most + 0.01, false)] {
            let found = in_range(observation(kind, Some(value))).value;
            assert_eq!(found, is_valid.then_some(value), "{kind:?}");
        }
        assert_eq!(in_range(observation(kind, None)).value, None);
    }
}

#[test]
fn the_last_five_values_are_averaged() {
    let mut last = LastValues::default();
    assert_eq!(last.mean(), None);
    let means = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0].map(|value| {
        last.push(value);
        last.mean().unwrap()
    });
    assert_eq!(means, [2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0]);
}

fn annotated(values: [Option<f64>; KIND_COUNT]) -> Annotated {
    let sensor = SensorId::new("s1").unwrap();
    let place = Place { location: Text::from("building1"), sensor_type: Text::from("solar") };
    Annotated { joined: Joined { message: 3, time_ms: 1_500, sensor, position: [6.5, -46.0], values }, place }
}

#[test]
fn rows_are_written_as_senml() {
    let expected = concat!(
        r#"{"e":[{"u":"string","n":"source","sv":"s1"},{"u":"lon","n":"longitude","v":"6.5"},"#,
        r#"{"u":"lat","n":"latitude","v":"-46"},{"u":"far","n":"temperature","v":"8"},{"u":"per","n":"dust","v":"411.02"},"#,
        r#"{"u":"string","n":"location","sv":"building1"},{"u":"string","n":"type","sv":"solar"}],"bt":1500}"#
    );
    assert_eq!(annotated([Some(8.0), None, None, Some(411.02), None]).senml(), expected);
}

/// Published messages can be parsed again.
#[test]
fn published_messages_are_messages() {
    let values = [Some(-12.5), Some(0.1 + 0.2), None, Some(1e-7), Some(17.0)];
    let message = super::super::senml::message_of(&annotated(values).senml()).unwrap();
    assert_eq!((message.sensor.as_str(), message.longitude, message.values), ("s1", 6.5, values));
}

#[test]
fn packets_have_a_length_in_groups_of_seven_bits() {
    let packet = |length: usize| Packet::new(9, Text::from("x".repeat(length)));
    let check = |length: usize, head: &[u8]| {
        let packet = packet(length);
        let expected = [head, b"\0\x08citydata", packet.payload.as_bytes()].concat();
        assert_eq!((packet.message, &*packet.bytes), (9, &*expected));
    };
    check(0, &[0x30, 10]);
    check(117, &[0x30, 127]);
    check(118, &[0x30, 128, 1]);
    check(16_373, &[0x30, 255, 127]);
    check(16_374, &[0x30, 128, 128, 1]);
}
