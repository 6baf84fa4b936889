"""What endpoints cost an hour, as a command line says it."""

from collections.abc import Sequence

from decide.errors import UsageError


def prices_of(options: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """The price of each endpoint that has one: ``NAME=PRICE``, or a price alone where there is one endpoint.

    Raises:
        UsageError: a price is no number above 0, or is for nothing that is measured.
    """
    prices: dict[str, float] = {}
    for option in options:
        name, equals, text = option.rpartition("=")
        if not equals:
            if len(names) > 1:
                raise UsageError(f"--hourly-price {option}: say for which, as in --hourly-price {names[0]}={option}")
            name = names[0]
        if name not in names:
            raise UsageError(f"--hourly-price {option}: {name!r} is not measured; there is {', '.join(names)}")
        try:
            prices[name] = float(text)
        except ValueError:
            prices[name] = 0.0
        if not 0 < prices[name] < float("inf"):
            raise UsageError(f"--hourly-price {option}: must be a number above 0, as in --hourly-price 1.63")
    return prices
