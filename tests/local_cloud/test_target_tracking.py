"""How many instances a policy wants, second by second."""

from local_cloud.target_tracking import TargetTracking

SAMPLES_TO_SCALE_IN = 10


def follow(policy: dict, outstanding: list[int], count: int = 1, start: int = 0) -> list[int]:
    """The number of instances after each second, each followed at once."""
    tracking, counts = TargetTracking(policy), []
    for second, load in enumerate(outstanding, start):
        count = tracking.wanted(second, load, count)
        counts.append(count)
    return counts


def test_three_samples_above_the_target_scale_out_to_what_the_load_needs():
    assert follow({"TargetValue": 2}, [7, 7, 7]) == [1, 1, 4]  # 7 requests, 2 each: 3.5


def test_a_short_peak_and_a_load_at_the_target_change_nothing():
    assert follow({"TargetValue": 2}, [9, 9, 2, 9, 9, 2, 2, 2]) == [1] * 8


def test_ten_samples_well_below_the_target_scale_in():
    quiet = follow({"TargetValue": 2}, [2] * SAMPLES_TO_SCALE_IN, count=4)
    assert quiet == [4] * (SAMPLES_TO_SCALE_IN - 1) + [1]


def test_just_below_the_target_nothing_scales_in():
    # 3.7 requests on two instances: more than nine tenths of the target each
    assert follow({"TargetValue": 2}, [4, 3] * 20, count=2) == [2] * 40


def test_the_last_instance_stays():
    assert follow({"TargetValue": 2}, [0] * 40) == [1] * 40


def test_scale_in_can_be_off():
    assert follow({"TargetValue": 2, "DisableScaleIn": True}, [0] * 40, count=3) == [3] * 40


def test_no_change_within_the_cool_down():
    policy = {"TargetValue": 1, "ScaleOutCooldown": 10, "ScaleInCooldown": 40}
    counts = follow(policy, [2] * 3 + [9] * 15 + [0] * 60)
    grew = [second for second in range(1, 78) if counts[second] > counts[second - 1]]
    shrank = [second for second in range(1, 78) if counts[second] < counts[second - 1]]
    assert grew == [2, 12]
    assert shrank == [52]
