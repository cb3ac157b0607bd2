import pytest

from tests.compiler.target import generating, only_error, rolling, spec_of, stage_of


def saving(**params):
    document = generating()
    document["graph"]["nodes"]["save"]["params"] = params
    return document


def test_it_writes_what_it_is_told():
    spec = spec_of(saving(name="my clip_1.take-2", quality=30, embed=False))

    assert dict(stage_of(spec, "save_video").attrs) == {
        "name": "my clip_1.take-2",
        "format": "mp4",
        "quality": 30,
        "embed": False,
    }
    assert [(output.node_id, output.kind) for output in spec.outputs] == [("save", "save_video")]


def test_an_endless_rollout_may_be_saved():
    assert stage_of(spec_of(rolling(chunk_count=0)), "save_video").read("video") == "rollout.video"


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "a\\b", "a:b", "a.", " a", "café", "a\x00b"])
def test_a_name_that_could_leave_its_folder_or_trouble_a_disk_is_refused(name):
    error = only_error(saving(name=name))

    assert (error.code, error.node_id, error.param) == ("E_PARAM_VALUE", "save", "name")
