"""Whatever happens in whatever order: the scheduler keeps its invariants and ends each job once."""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rushes.backend.engine.batching.commands import EndJob, RunStage, SkipStage, StepLanes
from rushes.backend.engine.batching.events import (
    JobArrived,
    JobCancelled,
    LanePaused,
    LaneReady,
    SlotFree,
    StageFailed,
    StageFinished,
)
from rushes.backend.engine.batching.lane import COMPUTE, BatchKey, LaneRef, StageNeed
from rushes.backend.engine.batching.scheduler import BatchScheduler

SLOTS = (COMPUTE, "io")
KEYS = [BatchKey("m", "transformer", (16, frames, 4, 4), "fp32", 1) for frames in (3, 5)]
PLANS = [
    (StageNeed(0),),
    (StageNeed(0, slot="io"), StageNeed(1, (0,))),
    (StageNeed(0), StageNeed(1), StageNeed(2, (0, 1))),
]
ENDINGS = st.sampled_from(["finish", "fail", "again", "pause"])


class AnySequence(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.scheduler = BatchScheduler(rows_max=3, age_limit=2, validate=True)
        self.now_s = 0.0
        self.arrived = 0
        self.ends = Counter()
        self.running = {}
        self.paused = set()

    def tell(self, event):
        for command in self.scheduler.handle(event):
            match command:
                case RunStage():
                    self.running[command.slot] = [command.stage]
                case StepLanes():
                    assert len(command.lanes) <= 3
                    self.running[command.slot] = list(command.lanes)
                case EndJob():
                    self.ends[command.job_id] += 1
                    self.paused = {lane for lane in self.paused if lane.job_id != command.job_id}
                case SkipStage():
                    assert command.stage.job_id not in self.ends

    @rule(plan=st.sampled_from(PLANS), is_alone=st.booleans())
    def submit(self, plan, is_alone):
        self.arrived += 1
        self.tell(JobArrived(f"job-{self.arrived}", plan, is_alone))

    @rule(number=st.integers(1, 12))
    def cancel(self, number):
        self.tell(JobCancelled(f"job-{number}"))

    @rule(slot=st.sampled_from(SLOTS), ending=ENDINGS, key=st.sampled_from(KEYS), live=st.booleans())
    def step_comes_back(self, slot, ending, key, live):
        for ref in self.running.pop(slot, []):
            lane = ref if isinstance(ref, LaneRef) else LaneRef(*ref, "predict")
            ended = ref.job_id in self.ends
            assert not ended
            if ending == "finish":
                self.tell(StageFinished(lane.owner))
            elif ending == "fail":
                self.tell(StageFailed(lane.owner))
            elif ending == "pause":
                self.tell(LanePaused(lane))
                self.paused.add(lane)
            else:
                self.tell(LaneReady(lane, COMPUTE, key, deadline_s=self.now_s + 1 if live else None))
        self.now_s += 0.1
        self.tell(SlotFree(slot, self.now_s))

    @rule(key=st.sampled_from(KEYS), wait_s=st.floats(0, 1))
    def a_paused_lane_goes_on(self, key, wait_s):
        if self.paused:
            lane = self.paused.pop()
            self.tell(LaneReady(lane, COMPUTE, key, not_before_s=self.now_s + wait_s))

    @invariant()
    def no_job_ends_twice(self):
        assert all(count == 1 for count in self.ends.values())

    def teardown(self):
        """Everything that is left can be brought to its end."""
        for number in range(1, self.arrived + 1):
            self.tell(JobCancelled(f"job-{number}"))
        for slot in SLOTS:
            self.running.pop(slot, None)
            self.tell(SlotFree(slot, self.now_s))
        assert len(self.ends) == self.arrived
        assert not self.scheduler.has_jobs()


TestAnySequence = AnySequence.TestCase
TestAnySequence.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
