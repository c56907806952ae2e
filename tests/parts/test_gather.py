"""Records gathered by known pattern are the same whatever parts they came in and whoever gathered
them.
"""

import tempfile

import numpy as np
import pandas as pd
import pytest
from parted import people, write_parts

from riskweighted.common.errors import InputError
from riskweighted.data.parts import find_parts
from riskweighted.parts.gather import (
    ORDER,
    count_patterns,
    gather,
    is_whole,
    packed,
    read_bucket,
    records_of,
    refuse_large,
    refuse_repeated,
)

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.versions]
KNOWN, COLUMNS = ["region", "age"], ["region", "age", "edu", "income"]


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def gathered(client, folder, data, cuts, identifier="hh", known=KNOWN, room=200):
    write_parts(folder, data, cuts)
    records = records_of(find_parts(folder / "parts" / "*.parquet"), COLUMNS, identifier)
    patterns = count_patterns(client, records, known)
    (folder / "buckets").mkdir()
    return gather(client, records, known, patterns, folder / "buckets", room)


def test_buckets_hold_whole_patterns_in_an_order_of_their_own(client, tmp_path):
    data = people()
    made = gathered(client, tmp_path, data, [100, 100, 500])
    buckets = [read_bucket(bucket) for bucket in made.buckets]
    assert len(buckets) > 3
    assert made.records == len(data)
    assert made.patterns == data.groupby(KNOWN).ngroups
    whose = pd.concat([bucket.drop_duplicates(KNOWN)[KNOWN] for bucket in buckets])
    assert not whose.duplicated().any()
    together = pd.concat(buckets).sort_values(ORDER, ignore_index=True)
    expected = data.sort_values("hh", ignore_index=True)[COLUMNS].assign(
        **{ORDER: np.sort(data["hh"])}
    )
    pd.testing.assert_frame_equal(together, expected)
    for bucket in buckets:
        assert all(
            of_pattern[ORDER].is_monotonic_increasing
            for _, of_pattern in bucket.groupby(KNOWN, sort=False)
        )


def test_parts_and_their_order_make_no_difference(client, tmp_path):
    data = people()
    one = gathered(client, tmp_path / "one", data, [100, 500])
    other = gathered(
        client, tmp_path / "other", data.sample(frac=1, random_state=1), [7, 300, 301, 850]
    )
    assert one.digest == other.digest
    assert [bucket.records for bucket in one.buckets] == [
        bucket.records for bucket in other.buckets
    ]


def test_without_an_identifier_the_place_in_the_files_decides(client, tmp_path):
    data = people()
    one = gathered(client, tmp_path / "one", data, [100, 500], None)
    other = gathered(client, tmp_path / "other", data, [7, 300, 301, 850], None)
    assert one.digest == other.digest
    assert sorted(value for bucket in one.buckets for value in read_bucket(bucket)[ORDER]) == list(
        range(len(data))
    )


def test_a_bucket_that_was_changed_is_not_whole(client, tmp_path):
    made = gathered(client, tmp_path, people(), [100, 500])
    assert all(map(is_whole, made.buckets))
    read_bucket(made.buckets[0]).assign(income=1).to_parquet(made.buckets[0].path)
    made.buckets[1].path.write_bytes(b"nothing")
    assert [is_whole(bucket) for bucket in made.buckets[:3]] == [False, False, True]


def test_large_identifiers_are_told_apart_where_footers_say_nothing(client, tmp_path):
    data = people().assign(hh=10**17 + np.arange(900))
    data.to_parquet(tmp_path / "part.parquet", index=False, write_statistics=False)
    refuse_repeated(client, records_of(find_parts(tmp_path / "part.parquet"), COLUMNS, "hh"), "hh")


def test_missing_values_are_a_pattern(client, tmp_path):
    data = people().assign(region=lambda frame: frame["region"].where(frame["edu"] > 1))
    made = gathered(client, tmp_path, data, [400])
    assert made.patterns == data.groupby(KNOWN, dropna=False).ngroups
    assert (
        sum(read_bucket(bucket)["region"].isna().sum() for bucket in made.buckets)
        == data["region"].isna().sum()
    )


def test_who_knows_nothing_sees_one_pattern(client, tmp_path):
    made = gathered(client, tmp_path, people(), [400], known=[])
    assert (made.patterns, len(made.buckets), made.records) == (1, 1, 900)


def test_repeated_identifiers_are_refused_wherever_they_are(client, tmp_path, monkeypatch):
    # identifiers are nothing for a folder that all share
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    data = people()
    write_parts(
        tmp_path, pd.concat([data, data.iloc[[3, 4]].assign(region="elsewhere")]), [100, 900]
    )
    records = records_of(find_parts(tmp_path / "parts" / "*.parquet"), COLUMNS, "hh")
    with pytest.raises(
        InputError, match=r"data\.id 'hh': 2 records have an identifier that another one has"
    ):
        refuse_repeated(client, records, "hh")


@pytest.mark.quick
def test_patterns_are_packed_in_their_order():
    assert packed(np.array([3, 3, 3, 10, 1, 1]), 6).tolist() == [0, 0, 1, 2, 3, 3]
    assert packed(np.array([10]), 6).tolist() == [0]


@pytest.mark.quick
def test_a_pattern_that_no_worker_holds_is_refused_before_anything_runs():
    refuse_large(1000, 10.0, 10_000)
    with pytest.raises(
        InputError,
        match=r"the largest known pattern has 1,001 records, which need about 0 MB .* name more "
        r"columns",
    ):
        refuse_large(1001, 10.0, 10_000)
