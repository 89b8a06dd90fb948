//! Parameters of a policy as it was made, by name, for display and for the records of runs.
//!
//! A policy reports its own parameters, so there is no second list of them: a value that is shown is the value by
//! which the policy ranks. Names end in their unit, then their qualifier. A parameter has the name of the field
//! in the settings of its policy; the comment of that field tells the paper's symbol and section.

use std::fmt;

/// One parameter of a policy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// The name of the parameter, with its unit if it has one, such as `cycle_ns`.
    pub name: &'static str,
    /// The value of the parameter, in the unit of its name.
    pub value: ParameterValue,
}

/// The value of one parameter of a policy.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum ParameterValue {
    /// A whole number.
    Whole(u64),
    /// A number with a fraction; finite.
    Real(f64),
    /// A choice between on and off: true if the part of the policy that the parameter names is switched on.
    Switch(bool),
    /// The name of a choice, such as a form of output cost.
    Word(&'static str),
}

impl Parameter {
    /// Creates a parameter whose value is a whole number.
    pub fn whole(name: &'static str, value: impl Into<u64>) -> Self {
        Parameter { name, value: ParameterValue::Whole(value.into()) }
    }

    /// Creates a parameter whose value is a number with a fraction.
    pub fn real(name: &'static str, value: f64) -> Self {
        Parameter { name, value: ParameterValue::Real(value) }
    }

    /// Creates a parameter that is switched on or off.
    pub fn switch(name: &'static str, value: bool) -> Self {
        Parameter { name, value: ParameterValue::Switch(value) }
    }

    /// Creates a parameter whose value is the name of a choice.
    pub fn word(name: &'static str, value: &'static str) -> Self {
        Parameter { name, value: ParameterValue::Word(value) }
    }
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Whole(value) => write!(f, "{value}"),
            ParameterValue::Real(value) => write!(f, "{value}"),
            ParameterValue::Switch(value) => write!(f, "{value}"),
            ParameterValue::Word(value) => write!(f, "{value}"),
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{by_name, configured, names};
    use crate::settings::Settings;

    fn shown(parameters: &[Parameter]) -> String {
        let words: Vec<String> = parameters.iter().map(Parameter::to_string).collect();
        words.join(", ")
    }

    #[test]
    fn a_parameter_is_shown_as_its_name_and_its_value() {
        let parameters = [
            Parameter::whole("cycle_ns", 5_u32),
            Parameter::real("memory_share", 0.5),
            Parameter::switch("is_lazy", true),
            Parameter::word("estimate", "sum"),
        ];
        assert_eq!(shown(&parameters), "cycle_ns 5, memory_share 0.5, is_lazy true, estimate sum");
    }

    /// Every policy tells the time between its rounds first, names no parameter twice, and has finite values, which
    /// JSON can express.
    #[test]
    fn every_policy_tells_its_parameters() {
        for name in names() {
            let policy = by_name(name).unwrap();
            let parameters = policy.parameters();
            assert_eq!(parameters.first(), Some(&Parameter::whole("round_ns", policy.round_ns())), "{name}");
            for (index, parameter) in parameters.iter().enumerate() {
                assert!(parameters[..index].iter().all(|other| other.name != parameter.name), "{name}");
                if let ParameterValue::Real(value) = parameter.value {
                    assert!(value.is_finite(), "{name}: {parameter}");
                }
            }
        }
    }

    /// The settings of users are among the parameters of the policies that read them.
    #[test]
    fn parameters_are_those_that_users_set() {
        let settings = Settings {
            round_ns: 5_000_000,
            klink_cycle_ns: 60_000_000,
            klink_confidence_percent: 90.0,
            klink_epochs: 100,
            klink_memory_share: 0.5,
            cameo_grain_ns: 3_000_000,
            cameo_cost_noise_ns: 9,
            cameo_noise_seed: 5,
        };
        for (name, expected) in [
            ("enjima", "round_ns 5000000"),
            ("enjima_strict", "round_ns 5000000"),
            ("rr_quantum", "quantum_ns 60000000"),
            ("klink", "cycle_ns 60000000, estimate closed_form, epochs 100"),
            ("klink", "memory_share 0.5"),
            ("klink_sum", "estimate sum, reach_deviations 1.64"),
            ("cameo_llf", "grain_ns 3000000, cost_noise_ns 9, noise_seed 5"),
            ("cameo_sjf+ageing", "grain_ns 3000000"),
        ] {
            let told = shown(&configured(name, &settings).unwrap().parameters());
            assert!(told.contains(expected), "{name}: {told}");
            let usual = shown(&by_name(name).unwrap().parameters());
            assert!(!usual.contains(expected), "{name}: {usual}");
        }
    }

    /// A policy tells no parameter of a part that it does not have.
    #[test]
    fn parts_that_are_missing_have_no_parameters() {
        for (name, missing) in [
            ("klink_no_memory", "memory_"),
            ("klink_lazy", "starvation_ns"),
            ("enjima_strict", "share_"),
            ("round_robin", "quantum_ns"),
            ("cameo_sjf", "latency_target_ns"),
            ("orleans", "starvation_ns"),
        ] {
            let told = shown(&by_name(name).unwrap().parameters());
            assert!(!told.contains(missing), "{name}: {told}");
        }
        assert!(shown(&by_name("orleans+ageing").unwrap().parameters()).contains("starvation_ns 10000000"));
    }
}
