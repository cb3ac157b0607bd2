"""Live control: what arrives, in any order, and what a chunk is made under."""

import random

import pytest

from rushes.backend.engine.loops.control import Applied, ControlState, Update


def keys(seq, *held, wanted=None):
    return Update(seq, wanted, keys=tuple(held))


def test_what_nothing_changes_holds():
    state = ControlState()
    state.offer(keys(1, "w"))
    state.take(0)

    assert state.take(1).keys == ("w",)
    assert state.take(1).applied == ()
    assert state.take(1).seq == 1


def test_of_several_updates_for_a_chunk_the_highest_number_wins_whatever_came_last():
    state = ControlState()
    for update in (keys(3, "d"), keys(2, "s"), keys(1, "w")):
        state.offer(update)

    snapshot = state.take(0)

    assert snapshot.keys == ("d",)
    assert snapshot.seq == 3


def test_a_duplicate_is_ignored():
    state = ControlState()
    state.offer(keys(1, "w"))

    assert not state.offer(keys(1, "w"))
    state.take(0)
    assert not state.offer(keys(1, "w"))
    assert state.take(1).applied == ()


def test_an_update_overtaken_by_a_higher_number_changes_nothing():
    state = ControlState()
    state.offer(keys(5, "d"))
    state.take(0)

    assert not state.offer(keys(4, "w"))
    assert state.take(1).keys == ("d",)


def test_an_update_waits_for_the_chunk_it_wants():
    state = ControlState()
    state.offer(keys(1, "w", wanted=2))

    assert state.take(0).keys == ()
    assert state.take(1).keys == ()
    assert state.take(2).applied == (Applied(1, is_late=False),)


def test_an_update_for_a_chunk_that_has_begun_is_late():
    state = ControlState()
    state.take(0)
    state.offer(keys(1, "w", wanted=0))

    assert state.take(1).applied == (Applied(1, is_late=True),)


def test_keys_and_prompt_are_ordered_by_themselves():
    state = ControlState()
    state.offer(Update(2, keys=("w",)))
    state.take(0)
    state.offer(Update(1, prompt="night"))

    snapshot = state.take(1)

    assert snapshot.keys == ("w",)
    assert snapshot.prompt == "night"


def test_a_saved_state_goes_on_as_it_was():
    state = ControlState()
    state.offer(Update(1, keys=("w",), prompt="day"))
    state.take(0)
    state.offer(Update(2, wanted_chunk=5, keys=()))

    again = ControlState.from_state(state.state_dict())

    assert again == state


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_delivery_ends_in_the_same_keys(seed):
    shuffle = random.Random(seed)
    updates = [keys(seq, "wasd"[seq % 4]) for seq in range(12)]
    delivered = [*updates, *shuffle.sample(updates, 5)]
    shuffle.shuffle(delivered)
    state = ControlState()
    for chunk, update in enumerate(delivered):
        state.offer(update)
        if shuffle.random() < 0.4:
            state.take(chunk)

    assert state.take(99).keys == ("wasd"[11 % 4],)
