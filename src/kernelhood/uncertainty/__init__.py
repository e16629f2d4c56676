"""What regression can say beside a mean: other losses, quantiles, intervals."""
