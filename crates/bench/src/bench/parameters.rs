//! The parameters of a run's policy, as JSON, as text and as a field of CSV.

use serde::{Serialize, Serializer};
use thalweg_scheduling::{Parameter, ParameterValue, Settings, policy};

/// The parameters of the policy of a run, as the policy reports them.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicyParameters(pub Vec<Parameter>);

impl PolicyParameters {
    /// Returns the parameters as text, such as `round_ns 1000000, cycle_ns 120000000`.
    pub fn text(&self) -> String {
        let words: Vec<String> = self.0.iter().map(Parameter::to_string).collect();
        words.join(", ")
    }

    /// Returns the parameters that differ from those of the policy called `name` with its defaults; all of them if
    /// there is no policy of that name.
    pub fn other_than_defaults(&self, name: &str) -> PolicyParameters {
        let defaults = policy::configured(name, &Settings::default()).map(|policy| policy.parameters());
        let defaults = defaults.unwrap_or_default();
        PolicyParameters(self.0.iter().filter(|parameter| !defaults.contains(parameter)).cloned().collect())
    }

    /// Returns the parameters as one field of CSV without commas, such as `round_ns=1000000;cycle_ns=120000000`.
    pub fn field(&self) -> String {
        let pairs: Vec<String> =
            self.0.iter().map(|Parameter { name, value }| format!("{name}={value}")).collect();
        pairs.join(";")
    }
}

/// Writes a JSON object with a member for each parameter, in their order.
impl Serialize for PolicyParameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|Parameter { name, value }| (name, Member(*value))))
    }
}

/// The value of a parameter as a member of the JSON object.
struct Member(ParameterValue);

impl Serialize for Member {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ParameterValue::Whole(value) => serializer.serialize_u64(value),
            ParameterValue::Real(value) => serializer.serialize_f64(value),
            ParameterValue::Switch(value) => serializer.serialize_bool(value),
            ParameterValue::Word(value) => serializer.serialize_str(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::args::BenchArgs;

    /// Numbers, switches and words keep their types in JSON, and the order is that of the policy.
    #[test]
    fn parameters_become_json_text_and_a_field() {
        let parameters = PolicyParameters(vec![
            Parameter::whole("cycle_ns", 7_u32),
            Parameter::real("memory_share", 0.5),
            Parameter::switch("is_lazy", false),
            Parameter::word("estimate", "sum"),
        ]);
        let json = serde_json::to_string(&parameters).unwrap();
        assert_eq!(json, r#"{"cycle_ns":7,"memory_share":0.5,"is_lazy":false,"estimate":"sum"}"#);
        assert_eq!(parameters.text(), "cycle_ns 7, memory_share 0.5, is_lazy false, estimate sum");
        assert_eq!(parameters.field(), "cycle_ns=7;memory_share=0.5;is_lazy=false;estimate=sum");
        assert_eq!(serde_json::to_string(&PolicyParameters(Vec::new())).unwrap(), "{}");
    }

    /// Only what was set apart from the defaults is left.
    #[test]
    fn parameters_of_the_defaults_are_left_out() {
        let of = |settings: &Settings| {
            let policy = policy::configured("klink", settings).unwrap();
            PolicyParameters(policy.parameters()).other_than_defaults("klink").text()
        };
        let defaults = Settings::default();
        assert_eq!(of(&defaults), "");
        for name in policy::names() {
            let args = BenchArgs::parsed(&format!("ysb --policy {name}"));
            let parameters = args.policy_parameters().unwrap();
            assert_eq!(parameters.other_than_defaults(name).text(), "", "{name}");
        }
        assert_eq!(of(&Settings { klink_cycle_ns: 5_000_000, ..defaults }), "cycle_ns 5000000");
    }
}
