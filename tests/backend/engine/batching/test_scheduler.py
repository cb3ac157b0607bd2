"""The BatchScheduler: events in, commands out."""

import pytest

from rushes.backend.engine.batching.commands import EndJob, RunStage, SkipStage, SleepUntil, StepLanes
from rushes.backend.engine.batching.events import (
    JobArrived,
    JobCancelled,
    LanePaused,
    LaneReady,
    SlotFree,
    StageFailed,
    StageFinished,
)
from rushes.backend.engine.batching.lane import COMPUTE, BatchKey, LaneRef, StageNeed, StageRef
from rushes.backend.engine.batching.scheduler import BatchScheduler, InvalidTransition

KEY = BatchKey("shapes@1/fp32", "transformer", (16, 3, 12, 12), "fp32", 1)
OTHER_KEY = BatchKey("shapes@1/fp32", "transformer", (16, 5, 12, 12), "fp32", 1)


class Device:
    """A scheduler with a clock that the test moves, and jobs whose one stage is a loop."""

    def __init__(self, **options):
        self.scheduler = BatchScheduler(validate=True, **options)
        self.now_s = 0.0
        self.wants = {}

    def tell(self, *events):
        return [command for event in events for command in self.scheduler.handle(event)]

    def free(self, slot=COMPUTE):
        return self.tell(SlotFree(slot, self.now_s))

    def open_loop(self, job_id, *, is_alone=False):
        """A job whose loop is open and whose lane waits."""
        self.tell(JobArrived(job_id, (StageNeed(0),), is_alone))
        lane = LaneRef(job_id, 0, "predict")
        assert self.free() == [RunStage(COMPUTE, lane.owner)]
        self.tell(LanePaused(lane))
        return lane

    def open_loops(self, *job_ids):
        return [self.open_loop(job_id) for job_id in job_ids]

    def want(self, lane, key=KEY, **want):
        self.wants[lane] = LaneReady(lane, COMPUTE, key, **want)
        self.want_again(lane)

    def want_again(self, *lanes):
        """The lanes took a step and want the next as they wanted the last."""
        self.tell(*(self.wants[lane] for lane in lanes))


def test_a_stage_runs_after_the_stages_it_needs():
    device = Device()
    device.tell(JobArrived("a", (StageNeed(0), StageNeed(1, after=(0,)))))

    assert device.free() == [RunStage(COMPUTE, StageRef("a", 0))]
    device.tell(StageFinished(StageRef("a", 0)))
    assert device.free() == [RunStage(COMPUTE, StageRef("a", 1))]
    device.tell(StageFinished(StageRef("a", 1)))
    assert device.free() == [EndJob("a", "completed"), SleepUntil(COMPUTE, None)]


def test_a_stage_waits_for_its_own_slot():
    device = Device()
    device.tell(JobArrived("a", (StageNeed(0, slot="io"),)))

    assert device.free(COMPUTE) == [SleepUntil(COMPUTE, None)]
    assert device.free("io") == [RunStage("io", StageRef("a", 0))]


def test_a_job_with_nothing_to_do_completes_at_once():
    assert Device().tell(JobArrived("a", ())) == [EndJob("a", "completed")]


def test_lanes_with_equal_keys_share_a_forward():
    device = Device()
    first, second = device.open_loops("a", "b")
    device.want(first)
    device.want(second)

    assert device.free() == [StepLanes(COMPUTE, (first, second))]


def test_lanes_with_different_keys_take_turns():
    device = Device()
    first, second = device.open_loops("a", "b")
    device.want(first)
    device.want(second, OTHER_KEY)

    assert device.free() == [StepLanes(COMPUTE, (first,))]
    device.want_again(first)
    assert device.free() == [StepLanes(COMPUTE, (second,))]


def test_an_exact_job_runs_alone():
    device = Device()
    first = device.open_loop("a", is_alone=True)
    second = device.open_loop("b")
    device.want(first)
    device.want(second)

    assert device.free() == [StepLanes(COMPUTE, (first,))]
    device.want_again(first)
    assert device.free() == [StepLanes(COMPUTE, (second,))]


def test_a_batch_holds_no_more_rows_than_allowed():
    device = Device(rows_max=4)
    two_rows = BatchKey("m", "transformer", (16, 3, 12, 12), "fp32", branches=2)
    lanes = device.open_loops("a", "b", "c")
    for lane in lanes:
        device.want(lane, two_rows)

    assert device.free() == [StepLanes(COMPUTE, tuple(lanes[:2]))]


def test_a_live_lane_goes_before_the_others_and_the_earliest_deadline_first():
    device = Device()
    job, late, soon = device.open_loops("job", "late", "soon")
    device.want(job, OTHER_KEY)
    device.want(late, None, deadline_s=9.0)
    device.want(soon, None, deadline_s=5.0)

    assert device.free() == [StepLanes(COMPUTE, (soon,))]
    device.tell(LanePaused(soon))
    assert device.free() == [StepLanes(COMPUTE, (late,))]
    device.tell(LanePaused(late))
    assert device.free() == [StepLanes(COMPUTE, (job,))]


def test_a_job_that_was_passed_over_often_gets_a_step_before_the_live_lane():
    device = Device(age_limit=3)
    job, live = device.open_loops("job", "live")
    device.want(job, OTHER_KEY)
    device.want(live, deadline_s=1.0)

    served = []
    for _ in range(5):
        (command,) = device.free()
        served.extend(command.lanes)
        device.want_again(*command.lanes)

    assert served == [live, live, live, job, live]


def test_a_lane_whose_time_has_not_come_lets_others_run_and_names_the_time():
    device = Device()
    live, job = device.open_loops("live", "job")
    device.want(live, not_before_s=2.0, deadline_s=3.0)
    device.want(job, OTHER_KEY)

    assert device.free() == [StepLanes(COMPUTE, (job,))]
    device.tell(LanePaused(job))
    assert device.free() == [SleepUntil(COMPUTE, 2.0)]
    device.now_s = 2.0
    assert device.free() == [StepLanes(COMPUTE, (live,))]


def test_two_lanes_of_a_loop_run_in_two_slots_at_once():
    device = Device()
    predict = device.open_loop("a")
    decode = predict._replace(part="decode")
    device.want(predict)
    device.tell(LaneReady(decode, "decode"))

    assert device.free() == [StepLanes(COMPUTE, (predict,))]
    assert device.free("decode") == [StepLanes("decode", (decode,))]


def test_a_failed_stage_skips_what_needs_it_and_leaves_the_other_branch():
    device = Device()
    device.tell(JobArrived("a", (StageNeed(0), StageNeed(1, (0,)), StageNeed(2, (1,)), StageNeed(3))))
    device.free()

    commands = device.tell(StageFailed(StageRef("a", 0)))

    assert commands == [SkipStage(StageRef("a", 1)), SkipStage(StageRef("a", 2))]
    assert device.free() == [RunStage(COMPUTE, StageRef("a", 3))]
    device.tell(StageFinished(StageRef("a", 3)))
    assert device.free() == [EndJob("a", "failed"), SleepUntil(COMPUTE, None)]


def test_a_waiting_job_is_cancelled_at_once():
    device = Device()
    device.tell(JobArrived("a", (StageNeed(0),)))

    assert device.tell(JobCancelled("a")) == [EndJob("a", "cancelled")]
    assert device.free() == [SleepUntil(COMPUTE, None)]


def test_a_job_in_a_slot_is_cancelled_when_its_step_is_back():
    device = Device()
    lane = device.open_loop("a")
    device.want(lane)
    device.free()

    assert device.tell(JobCancelled("a")) == []
    device.want_again(lane)
    assert device.free() == [EndJob("a", "cancelled"), SleepUntil(COMPUTE, None)]


def test_a_job_in_two_slots_ends_when_both_are_back():
    device = Device()
    lane = device.open_loop("a")
    device.want(lane)
    device.tell(LaneReady(lane._replace(part="decode"), "decode"))
    device.free()
    device.free("decode")
    device.tell(JobCancelled("a"))

    assert device.free() == [SleepUntil(COMPUTE, None)]
    assert device.free("decode") == [EndJob("a", "cancelled"), SleepUntil("decode", None)]


def test_cancelling_twice_and_cancelling_a_stranger_change_nothing():
    device = Device()
    device.tell(JobArrived("a", (StageNeed(0),)))
    device.tell(JobCancelled("a"))

    assert device.tell(JobCancelled("a"), JobCancelled("b")) == []


def test_an_event_that_does_not_fit_tells_the_story_so_far():
    device = Device()
    device.tell(JobArrived("a", (StageNeed(0), StageNeed(1))))

    with pytest.raises(InvalidTransition, match="waiting -> ready"):
        device.tell(StageFinished(StageRef("a", 0)))
