//! Calls an operator as a task would, and checks its promises after each call.

use std::sync::Arc;

use thalweg_model::staged::{Held, Stages};
use thalweg_model::{
    Allowance, Counts, Entropy, EventTime, Flow, Input, LatencyMarker, Mark, Operator, Output,
    ProcessingTime, Record, SeededEntropy, StateReader, StateWriter, VirtualClock,
};

use super::bounded_grant::BoundedGrant;
use super::output::Bounded;
use super::{Emitted, Manner, Ran, Restore};
use crate::oracle::Row;

/// Largest number of consecutive calls in which an operator may have room, push nothing, and still not be
/// done.
const FRUITLESS_MAX: u32 = 3;

/// Result of a step of the driver: an error ends the run, because the operator was refused memory.
pub(super) type Ended = Result<(), Starved>;

/// Error: the operator was refused memory, and is not called again.
#[derive(Debug)]
pub(super) struct Starved;

/// Drives one operator through the input, and checks its contract after each call.
pub(super) struct Driver<In, P: Operator<In>, Make> {
    make: Make,
    operator: P,
    manner: Manner,
    entropy: SeededEntropy,
    bounded_grant: Arc<BoundedGrant>,
    /// Bytes of state that the operator reported after the last call.
    state_bytes: usize,
    /// Counts of records (read, late and so on) of the operators that the current one has replaced, added up.
    earlier: Vec<Counts>,
    watermark: EventTime,
    /// The watermark of a single input that an `InputWatermark` gave to an operator last, and whether the
    /// current operator got it, or only one that it replaced.
    told: EventTime,
    is_told: bool,
    /// The last watermark that the operator has forwarded.
    promised: EventTime,
    promised_of_input: EventTime,
    ran: Ran<In, P::Out>,
}

/// Room of the output, in records, for one call of the operator.
#[derive(Clone, Copy)]
enum Room {
    Exactly(usize),
    /// The output has room for at most this number of records: it may close early, but not before it has
    /// taken one record.
    AtMost(usize),
}

/// The way in which the driver passes records to the operator.
#[derive(Clone, Copy)]
enum Way {
    Batch,
    /// The records are passed through [`Stages`], as for a chain whose operators are measured one by one.
    Staged,
    /// The records are passed one by one, as by the operator before it in a chain.
    OneByOne,
}

impl<In: Clone, P: Operator<In>, Make: Fn() -> P> Driver<In, P, Make> {
    pub(super) fn new(make: Make, manner: Manner, mut entropy: SeededEntropy) -> Self {
        let bounded_grant = Arc::new(BoundedGrant::new(manner.bounded_grant_bytes));
        let operator = fresh(&make, &bounded_grant, &mut entropy);
        let ran = Ran {
            arrived: Vec::new(),
            emitted: Vec::new(),
            watermarks_us: Vec::new(),
            counts: Vec::new(),
            is_starved: false,
        };
        Driver {
            make,
            state_bytes: operator.state_bytes(),
            operator,
            manner,
            entropy,
            bounded_grant,
            earlier: Vec::new(),
            watermark: EventTime::MIN,
            told: EventTime::MIN,
            is_told: true,
            promised: EventTime::MIN,
            promised_of_input: EventTime::MIN,
            ran,
        }
    }

    /// Passes records of one input, whose own watermark is `own`, to the operator. If there are several
    /// inputs, `told` is this watermark too. It is sent ahead as an `InputWatermark` if it differs from the
    /// last watermark that the operator got.
    pub(super) fn batch(&mut self, batch: Vec<Record<In>>, own: EventTime, told: Option<EventTime>) -> Ended {
        if batch.is_empty() {
            return Ok(());
        }
        if let Some(own) = told
            && (self.told.max(self.watermark) != own || !self.is_told)
        {
            self.mark(Mark::InputWatermark(own))?;
        }
        let watermark_us = (own > EventTime::MIN).then(|| i128::from(own.as_micros()));
        self.ran.arrived.extend(batch.iter().map(|record| Row {
            at_us: record.event_time.as_micros(),
            watermark_us,
            value: record.value.clone(),
        }));
        match [Way::Batch, Way::Staged, Way::OneByOne][self.entropy.below(3) as usize] {
            Way::OneByOne => self.one_by_one(batch)?,
            way => {
                let mut rest = batch.into_iter();
                // An operator that emits at most one record per record gets no more records than there is
                // room for (rule O2).
                let part = if P::EXPANDS { rest.len() } else { self.manner.room };
                while rest.len() > 0 {
                    self.process(rest.by_ref().take(part).collect(), way)?;
                }
            }
        }
        self.check_counts();
        self.between()
    }

    /// Sends the operator the least watermark of all inputs, if it has advanced.
    pub(super) fn watermark(&mut self, watermark: EventTime) -> Ended {
        if watermark <= self.watermark {
            return Ok(());
        }
        self.watermark = watermark;
        self.ran.watermarks_us.push(watermark.as_micros());
        self.mark(Mark::Watermark(watermark))?;
        if self.manner.restore == Restore::AtWatermarks {
            self.restore();
        }
        self.between()
    }

    /// Passes a mark (a [`Mark`], such as a watermark or the end of the stream) to the operator until the
    /// operator is done with it, and checks and records how the operator forwards it.
    pub(super) fn mark(&mut self, mark: Mark) -> Ended {
        if let Mark::InputWatermark(own) = mark {
            (self.told, self.is_told) = (own, true);
        }
        // The output may have no room at all when a watermark or another mark comes, as it may be in a chain
        // of operators.
        let room = self.any_room();
        let mut flow = self.call(room, |operator, output| operator.on_mark(mark, output))?;
        let mut fruitless = 0;
        while flow == Flow::More {
            flow = self.resume(&mut fruitless)?;
        }
        self.check_counts();
        let forwarded = self.operator.forward(mark);
        assert_eq!(self.operator.forward(mark), forwarded, "the same mark gets the same answer");
        self.note_forwarded(mark, forwarded);
        Ok(())
    }

    /// Returns the operator's input and output, after a last check of its counts of records.
    pub(super) fn finish(mut self, is_starved: bool) -> Ran<In, P::Out> {
        self.check_counts();
        self.add_counts();
        let read = self.earlier.first().map_or(0, |counts| counts.read);
        let arrived = self.ran.arrived.len() as u64;
        assert!(is_starved || read == arrived, "the first operator has read {read} of {arrived} records");
        Ran { counts: self.earlier, is_starved, ..self.ran }
    }

    fn process(&mut self, part: Vec<Record<In>>, way: Way) -> Ended {
        let mut held = Held::new(part.len());
        part.into_iter().for_each(|record| held.push(record));
        let mut input = held.into_input();
        while input.remaining() > 0 {
            let given = input.remaining();
            self.call(self.room_for_records(), |operator, output| match way {
                Way::Staged => {
                    let clock = VirtualClock::default();
                    operator.process_staged(&mut input, output, &mut Stages::new(&clock), 0);
                }
                _ => operator.process(&mut input, output),
            })?;
            let left = input.remaining();
            if !P::EXPANDS {
                assert_eq!(left, 0, "an operator that does not expand takes all that it is given (O2)");
            }
            let is_stalled = self.operator.is_stalled();
            assert!(left < given || is_stalled, "an operator with room takes a record, or is stalled (O3)");
            self.resume_stalled()?;
        }
        Ok(())
    }

    fn one_by_one(&mut self, batch: Vec<Record<In>>) -> Ended {
        for record in batch {
            let outcome =
                self.call(self.room_for_records(), |operator, output| operator.process_one(record, output));
            self.operator.note_read(1);
            outcome?;
            self.resume_stalled()?;
        }
        Ok(())
    }

    fn resume_stalled(&mut self) -> Ended {
        assert!(
            P::EXPANDS || !self.operator.is_stalled(),
            "an operator that does not expand is never stalled (O3)"
        );
        let mut fruitless = 0;
        while self.operator.is_stalled() {
            let flow = self.resume(&mut fruitless)?;
            let is_done = !self.operator.is_stalled();
            assert_eq!(flow == Flow::Done, is_done, "resume is done when the operator is not stalled (O4)");
        }
        Ok(())
    }

    fn resume(&mut self, fruitless: &mut u32) -> Result<Flow, Starved> {
        let room = self.any_room();
        let before = self.ran.emitted.len();
        let flow = self.call(room, |operator, output| operator.resume(output))?;
        let has_pushed = self.ran.emitted.len() > before;
        *fruitless = if has_pushed { 0 } else { *fruitless + u32::from(!matches!(room, Room::Exactly(0))) };
        assert!(
            flow == Flow::Done || *fruitless <= FRUITLESS_MAX,
            "an operator with room pushes or is done (O4)"
        );
        Ok(flow)
    }

    /// Returns the room of the output, in records, for a call that passes no record, such as one with a
    /// watermark. The operator may stop in this call and continue later, so there may be no room at all.
    fn any_room(&mut self) -> Room {
        if self.entropy.below(4) == 0 { Room::Exactly(0) } else { Room::AtMost(self.manner.room) }
    }

    /// Returns the room of the output, in records, for a call that passes records. An operator that cannot
    /// stop in between gets exactly the largest room.
    fn room_for_records(&self) -> Room {
        if P::EXPANDS { Room::AtMost(self.manner.room) } else { Room::Exactly(self.manner.room) }
    }

    /// Makes one call of the operator, and checks the bytes of state that it reports.
    fn call<Q>(
        &mut self,
        room: Room,
        act: impl FnOnce(&mut P, &mut Bounded<P::Out>) -> Q,
    ) -> Result<Q, Starved> {
        let mut output = match room {
            Room::Exactly(room) => Bounded::new(room),
            Room::AtMost(room) => Bounded::new(room).or_less(&mut self.entropy),
        };
        let granted_before = self.bounded_grant.granted_bytes();
        let result = act(&mut self.operator, &mut output);
        let granted_bytes = self.bounded_grant.granted_bytes() - granted_before;
        let before = std::mem::replace(&mut self.state_bytes, self.operator.state_bytes());
        assert!(
            self.state_bytes <= before + granted_bytes,
            "state grew from {before} to {} bytes, but only {granted_bytes} were asked for",
            self.state_bytes
        );
        let late_by = self.promised.max(self.promised_of_input);
        let promised_us = (self.promised > EventTime::MIN).then(|| self.promised.as_micros());
        let watermark_us = (late_by > EventTime::MIN).then(|| i128::from(late_by.as_micros()));
        let watermark_count = self.ran.watermarks_us.len();
        self.ran.emitted.extend(output.records.into_iter().map(|Record { event_time, value }| {
            let row = Row { at_us: event_time.as_micros(), watermark_us, value };
            Emitted { row, watermark_count, promised_us }
        }));
        if self.bounded_grant.has_refused() { Err(Starved) } else { Ok(result) }
    }

    fn note_forwarded(&mut self, mark: Mark, forwarded: Option<Mark>) {
        match (mark, forwarded) {
            (Mark::Watermark(given), Some(Mark::Watermark(promised))) => {
                assert!(promised <= given, "{promised:?} is promised, but only {given:?} was");
                assert!(self.promised <= promised, "{promised:?} is promised behind {:?}", self.promised);
                assert!(
                    given < EventTime::MAX || promised == given,
                    "at the end of time nothing is held back"
                );
                self.promised = promised;
            }
            (Mark::InputWatermark(given), Some(Mark::InputWatermark(promised))) => {
                assert_eq!(given, promised, "an input's watermark is handed on, or ends here");
                self.promised_of_input = promised;
            }
            (Mark::Watermark(given), None) => {
                assert!(given < EventTime::MAX, "the end of time is handed on");
            }
            (Mark::InputWatermark(_), None) => {}
            (mark, forwarded) => assert_eq!(forwarded, Some(mark), "it is handed on as it is"),
        }
    }

    fn check_counts(&self) {
        self.operator.visit_counts(&mut |name, counts| {
            assert!(counts.is_conserved(), "every record read by {name} is accounted for: {counts:?}");
        });
    }

    /// Adds the current operator's counts of records to those of the operators that it has replaced.
    fn add_counts(&mut self) {
        let mut place = 0;
        self.operator.visit_counts(&mut |_, counts| {
            if self.earlier.len() == place {
                self.earlier.push(Counts::default());
            }
            let sum = &mut self.earlier[place];
            sum.read += counts.read;
            sum.forwarded += counts.forwarded;
            sum.folded += counts.folded;
            sum.filtered += counts.filtered;
            sum.late += counts.late;
            place += 1;
        });
    }

    /// Calls the operator in ways that may happen between any two other calls: with a latency marker, or with
    /// a save and a load of its state.
    fn between(&mut self) -> Ended {
        match self.entropy.below(16) {
            0 => {
                let sent = ProcessingTime::from_nanos(7);
                self.mark(Mark::Latency(LatencyMarker::new(sent, sent)))?;
            }
            1 => self.mark(Mark::Idle)?,
            _ => {}
        }
        if self.manner.restore == Restore::Anywhere && self.entropy.below(4) == 0 {
            self.restore();
        }
        Ok(())
    }

    fn restore(&mut self) {
        self.add_counts();
        let mut state = StateWriter::default();
        self.operator.save(&mut state).expect("state can be saved");
        let bytes = state.into_bytes();
        self.operator = fresh(&self.make, &self.bounded_grant, &mut self.entropy);
        let (before, granted_before) = (self.operator.state_bytes(), self.bounded_grant.granted_bytes());
        let mut reader = StateReader::new(&bytes);
        self.operator.load(&mut reader).expect("state can be loaded");
        reader.finish().expect("state is read whole");
        self.state_bytes = self.operator.state_bytes();
        let granted_bytes = self.bounded_grant.granted_bytes() - granted_before;
        assert!(
            self.state_bytes <= before + granted_bytes,
            "{} bytes of state were loaded, but only {granted_bytes} asked for",
            self.state_bytes
        );
        // A task that starts again must announce the watermark of an input to its operator again.
        self.is_told = false;
    }
}

fn fresh<In, P: Operator<In>>(
    make: impl Fn() -> P,
    bounded_grant: &Arc<BoundedGrant>,
    entropy: &mut SeededEntropy,
) -> P {
    let mut operator = make();
    operator.fund(&Allowance::new(Arc::<BoundedGrant>::clone(bounded_grant)));
    operator.seed(entropy);
    operator
}
