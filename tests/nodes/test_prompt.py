from rushes.nodes.catalog import load_catalog
from tests.compiler.target import generating, spec_of, stage_of


def test_the_text_is_encoded_as_it_was_written_by_the_model_it_meets():
    document = generating()
    document["graph"]["nodes"]["prompt"]["params"] = {"text": "  Ein roter Kreis \u2013 groß\n"}

    encode = stage_of(spec_of(document), "encode_text")

    assert encode.attr("text") == "  Ein roter Kreis \u2013 groß\n"
    assert (encode.node_id, encode.read("model")) == ("prompt", "model.model")


def test_a_prompt_may_be_changed_while_a_rollout_runs():
    assert load_catalog().nodes["prompt"].params["text"].live
